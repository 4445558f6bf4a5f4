/* SPDX-License-Identifier: MIT */
#include "send/send_request.h"

/* Requests as bytes: what was encoded is decoded, and anything else is no request. */

#include <errno.h>
#include <stdlib.h>

#include "send/send_list.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { BYTES_MAX = sizeof(struct send_frame) + SEND_GET_MAX, ROUNDS = 20000 };

static struct chance chance;
static char file[SEND_NAME_MAX + 2], tree[SEND_NAME_MAX + 2];
static unsigned char from[BPTREE_KEY_MAX + 1], to[BPTREE_KEY_MAX + 1];

static void fill(void *bytes, size_t byte_len)
{
        for (size_t i = 0; i < byte_len; i++)
                ((unsigned char *)bytes)[i] = (unsigned char)(1 + chance_below(&chance, 255));
}

static void make_name(char *name, size_t len)
{
        fill(name, len);
        name[len] = 0;
}

static xac_send_request random_request(void)
{
        make_name(file, 1 + (size_t)chance_below(&chance, SEND_NAME_MAX));
        make_name(tree, 1 + (size_t)chance_below(&chance, SEND_NAME_MAX));
        fill(from, sizeof(from));
        fill(to, sizeof(to));
        return (xac_send_request){ .file = file,
                                   .tree = chance_percent(&chance, 70) ? tree : NULL,
                                   .from = chance_percent(&chance, 70) ? from : NULL,
                                   .from_len = 1 + (size_t)chance_below(&chance, BPTREE_KEY_MAX),
                                   .to = chance_percent(&chance, 70) ? to : NULL,
                                   .to_len = 1 + (size_t)chance_below(&chance, BPTREE_KEY_MAX),
                                   .first_page = chance_next(&chance),
                                   .pages = chance_next(&chance),
                                   .max_records = chance_next(&chance),
                                   .sequence = chance_next(&chance),
                                   .base_sequence = chance_next(&chance),
                                   .way = (enum xac_send_way)chance_below(&chance, XAC_SEND_PAGES + 1) };
}

/* In memory of its own, so that a look behind the end is noticed by AddressSanitizer. */
static int decode(const unsigned char *bytes, size_t byte_len, struct send_decoded *decoded)
{
        struct send_frame head;
        unsigned char *body = malloc(byte_len > sizeof(head) ? byte_len - sizeof(head) : 1);

        check(body != NULL);
        memcpy(&head, bytes, sizeof(head));
        head = send_frame_order(head);
        head.byte_len = byte_len - sizeof(head);
        memcpy(body, bytes + sizeof(head), head.byte_len);
        int err = send_request_decode(&head, body, decoded);
        free(body);
        return err;
}

static void check_key(const void *now, size_t now_len, const void *key, size_t key_len)
{
        check(!now == !key);
        check_equal(now_len, key ? key_len : 0);
        check(!key || memcmp(now, key, key_len) == 0);
}

static void what_is_encoded_is_decoded(void)
{
        unsigned char bytes[BYTES_MAX];
        struct send_decoded decoded;
        size_t byte_len;

        chance.state = chance_seed();
        for (int round = 0; round < ROUNDS; round++) {
                const xac_send_request request = random_request();
                const xac_send_request *now = &decoded.request;

                check_ok(send_request_encode(&request, bytes, &byte_len));
                check(byte_len <= sizeof(bytes));
                check_ok(decode(bytes, byte_len, &decoded));
                check(strcmp(now->file, file) == 0 && !now->tree == !request.tree);
                check(!now->tree || strcmp(now->tree, tree) == 0);
                check_key(now->from, now->from_len, request.from, request.from_len);
                check_key(now->to, now->to_len, request.to, request.to_len);
                check(now->first_page == request.first_page && now->pages == request.pages && now->way == request.way);
                check(now->max_records == request.max_records && now->sequence == request.sequence);
                check_equal(now->base_sequence, request.base_sequence);
        }
}

static void what_is_too_long_is_not_encoded(void)
{
        unsigned char bytes[BYTES_MAX];
        xac_send_request request;
        size_t byte_len;

        chance.state = chance_seed();
        request = random_request();
        make_name(file, SEND_NAME_MAX + 1);
        check_code(send_request_encode(&request, bytes, &byte_len), -EINVAL);
        request = random_request();
        request.file = NULL;
        check_code(send_request_encode(&request, bytes, &byte_len), -EINVAL);
        request = random_request();
        request.tree = "";
        check_code(send_request_encode(&request, bytes, &byte_len), -EINVAL);
        request = random_request();
        request.to = to;
        request.to_len = BPTREE_KEY_MAX + 1;
        check_code(send_request_encode(&request, bytes, &byte_len), -EINVAL);
}

/* Shorter, longer, with other bytes: it says so, or takes it for another request. */
static void any_bytes_may_come(void)
{
        unsigned char bytes[BYTES_MAX + 100];
        struct send_decoded decoded;
        size_t byte_len;
        int refused = 0;

        chance.state = chance_seed();
        for (int round = 0; round < ROUNDS; round++) {
                const xac_send_request request = random_request();
                const int way = (int)chance_below(&chance, 3);

                check_ok(send_request_encode(&request, bytes, &byte_len));
                if (way == 0)
                        byte_len = sizeof(struct send_frame) +
                                   (size_t)chance_below(&chance, byte_len - sizeof(struct send_frame));
                else if (way == 1)
                        byte_len += 1 + (size_t)chance_below(&chance, 100);
                else
                        fill(bytes + chance_below(&chance, 80), 1 + (size_t)chance_below(&chance, 12));
                int err = decode(bytes, byte_len, &decoded);
                check(err == 0 || err == -EPROTO);
                check(way == 2 || err);
                check(err || (decoded.request.file[0] && (unsigned)decoded.request.way <= XAC_SEND_PAGES));
                refused += err != 0;
        }
        check(refused > ROUNDS / 2);
}

/* ---- lists of what there is ---- */

static struct send_listed random_listed(void)
{
        struct send_listed listed = { chance_next(&chance),
                                      (uint32_t)chance_next(&chance),
                                      (uint32_t)chance_next(&chance),
                                      (uint32_t)chance_next(&chance),
                                      "",
                                      "" };

        make_name(listed.file, 1 + (size_t)chance_below(&chance, SEND_NAME_MAX));
        make_name(listed.tree, (size_t)chance_below(&chance, SEND_NAME_MAX + 1));
        return listed;
}

/* Decoded in memory of its own, so that a look behind the end is noticed by AddressSanitizer. */
static int decode_listed(const unsigned char *bytes, size_t byte_len, struct send_listed *listed)
{
        unsigned char *body = malloc(byte_len ? byte_len : 1);

        check(body != NULL);
        memcpy(body, bytes, byte_len);
        int err = send_listed_decode(body, byte_len, listed);
        free(body);
        return err;
}

static void what_is_listed_is_decoded(void)
{
        unsigned char bytes[sizeof(struct send_frame) + SEND_LISTED_MAX + 1] = { 0 };
        const unsigned char *body = bytes + sizeof(struct send_frame);
        struct send_listed listed, now;

        chance.state = chance_seed();
        for (int round = 0; round < ROUNDS; round++) {
                listed = random_listed();
                const size_t len = send_listed_encode(&listed, bytes) - sizeof(struct send_frame);
                const size_t shorter = (size_t)chance_below(&chance, len);

                check_ok(decode_listed(body, len, &now));
                check(now.pages == listed.pages && now.page_bytes == listed.page_bytes);
                check(now.key_bytes == listed.key_bytes && now.value_bytes == listed.value_bytes);
                check(strcmp(now.file, listed.file) == 0 && strcmp(now.tree, listed.tree) == 0);
                check_code(decode_listed(body, shorter, &now), -EPROTO);
                check_code(decode_listed(body, len + 1, &now), -EPROTO);
                bytes[sizeof(struct send_frame) + SEND_LISTED_BYTES + strlen(listed.file) - 1] = 0;
                check_code(decode_listed(body, len, &now), -EPROTO);
        }
        listed.file[0] = 0;
        check_equal(send_listed_encode(&listed, bytes), 0);
}

/* It has a header alone, and is no request for a range. */
static void a_request_for_a_list_is_told_from_others(void)
{
        const struct send_frame list = { SEND_LIST, 0, 0 }, counted = { SEND_LIST, 1, 0 },
                                longer = { SEND_LIST, 0, 52 }, get = { SEND_GET, 0, 0 };
        const unsigned char body[SEND_GET_BYTES] = { 0 };
        struct send_decoded decoded;

        check(send_request_is_list(&list));
        check(!send_request_is_list(&counted) && !send_request_is_list(&longer) && !send_request_is_list(&get));
        check_code(send_request_decode(&list, body, &decoded), -EPROTO);
        check_code(send_request_decode(&longer, body, &decoded), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_is_encoded_is_decoded),
                isolated_test(what_is_too_long_is_not_encoded),
                isolated_test(any_bytes_may_come),
                isolated_test(what_is_listed_is_decoded),
                isolated_test(a_request_for_a_list_is_told_from_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
