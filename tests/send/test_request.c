/* SPDX-License-Identifier: MIT */
#include "send/send_request.h"

/* Requests as bytes: what was encoded is decoded, and anything else is no request. */

#include <errno.h>
#include <stdlib.h>

#include "send/send_list.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { ROUNDS = 20000 };

static struct chance chance;
static char file[SEND_NAME_MAX + 2], tree[SEND_NAME_MAX + 2];
static unsigned char from[XAC_TREE_KEY_MAX + 1], to[XAC_TREE_KEY_MAX + 1];

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
                                   .from_len = 1 + (size_t)chance_below(&chance, XAC_TREE_KEY_MAX),
                                   .to = chance_percent(&chance, 70) ? to : NULL,
                                   .to_len = 1 + (size_t)chance_below(&chance, XAC_TREE_KEY_MAX),
                                   .first_page = chance_next(&chance),
                                   .pages = chance_next(&chance),
                                   .max_records = chance_next(&chance),
                                   .max_bytes = chance_next(&chance),
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
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        struct send_decoded decoded;
        size_t byte_len;

        chance.state = chance_seed();
        for (int round = 0; round < ROUNDS; round++) {
                const xac_send_request request = random_request();
                const xac_send_request *now = &decoded.request;

                check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
                check(byte_len <= sizeof(bytes));
                check_ok(decode(bytes, byte_len, &decoded));
                check(strcmp(now->file, file) == 0 && !now->tree == !request.tree);
                check(!now->tree || strcmp(now->tree, tree) == 0);
                check_key(now->from, now->from_len, request.from, request.from_len);
                check_key(now->to, now->to_len, request.to, request.to_len);
                check(now->first_page == request.first_page && now->pages == request.pages && now->way == request.way);
                check(now->max_records == request.max_records && now->sequence == request.sequence);
                check_equal(now->base_sequence, request.base_sequence);
                check_equal(now->max_bytes, request.max_bytes);
        }
}

static void check_refused(const xac_send_request *request)
{
        unsigned char bytes[XAC_SEND_REQUEST_MAX] = { 0 };
        size_t byte_len = 0;

        check_code(xac_send_request_encode(request, bytes, sizeof(bytes), &byte_len), -EINVAL);
        check(bytes[0] == 0 && byte_len == 0);
}

static void what_cannot_be_sent_is_not_encoded(void)
{
        xac_send_request request;

        chance.state = chance_seed();
        request = random_request();
        make_name(file, SEND_NAME_MAX + 1);
        check_refused(&request);
        request = random_request();
        request.file = NULL;
        check_refused(&request);
        request.file = "";
        check_refused(&request);
        request = random_request();
        request.tree = "";
        check_refused(&request);
        request.tree = tree;
        make_name(tree, SEND_NAME_MAX + 1);
        check_refused(&request);
        request = random_request();
        request.to = to;
        request.to_len = XAC_TREE_KEY_MAX + 1;
        check_refused(&request);
        request.to_len = 0;
        check_refused(&request);
        request = random_request();
        request.reserved[6] = 1;
        check_refused(&request);
        request = random_request();
        request.from = from;
        request.from_len = XAC_TREE_KEY_MAX + 1;
        check_refused(&request);
        request = random_request();
        request.way = XAC_SEND_PAGES + 1;
        check_refused(&request);
}

/* With less room than it takes it says how much that is, and writes nothing. */
static void room_is_kept(void)
{
        unsigned char bytes[XAC_SEND_REQUEST_MAX], less[XAC_SEND_REQUEST_MAX];
        size_t byte_len, wanted;

        chance.state = chance_seed();
        const xac_send_request request = random_request();
        check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
        check_code(xac_send_request_encode(&request, NULL, 0, &wanted), -ERANGE);
        check_equal(wanted, byte_len);
        memset(less, 0, sizeof(less));
        check_code(xac_send_request_encode(&request, less, byte_len - 1, &wanted), -ERANGE);
        check(wanted == byte_len && less[0] == 0);
        check_ok(xac_send_request_encode(&request, less, byte_len, &wanted));
        check(wanted == byte_len && memcmp(less, bytes, byte_len) == 0);
}

/* What `room` a program has that takes XAC_SEND_REQUEST_MAX. */
static void the_longest_request_has_room(void)
{
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        size_t byte_len;

        chance.state = chance_seed();
        make_name(file, SEND_NAME_MAX);
        make_name(tree, SEND_NAME_MAX);
        const xac_send_request request = { .file = file,
                                           .tree = tree,
                                           .from = from,
                                           .from_len = XAC_TREE_KEY_MAX,
                                           .to = to,
                                           .to_len = XAC_TREE_KEY_MAX };
        check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
        check_equal(byte_len, XAC_SEND_REQUEST_MAX);
}

/* docs/SEND.md has the format: these bytes, on any machine. */
static void the_bytes_are_those_of_the_format(void)
{
        static const unsigned char expected[] = {
                1,   0,   0,   0,   0,   0,   0,   0,   70,  0,  0, 0, 0, 0, 0, 0, /* GET, 0, 70 bytes */
                1,   2,   0,   0,   0,   0,   0,   0,   3,   0,  0, 0, 0, 0, 0, 0, /* sequence, base_sequence */
                4,   0,   0,   0,   0,   0,   0,   0,   7,   0,  0, 0, 0, 0, 0, 0, /* max_records, max_bytes */
                5,   0,   0,   0,   0,   0,   0,   0,   6,   0,  0, 0, 0, 0, 0, 0, /* first_page, pages */
                4,   0,   0,   0,                                                  /* way */
                4,   0,   3,   0,   2,   0,   1,   0,                              /* lengths */
                'f', 'i', 'l', 'e', 't', 'r', 'e', 'a', 'b', 'z'
        };
        const xac_send_request request = { .file = "file",
                                           .tree = "tre",
                                           .from = "ab",
                                           .from_len = 2,
                                           .to = "z",
                                           .to_len = 1,
                                           .sequence = 0x201,
                                           .base_sequence = 3,
                                           .max_records = 4,
                                           .max_bytes = 7,
                                           .first_page = 5,
                                           .pages = 6,
                                           .way = XAC_SEND_PAGES };
        unsigned char bytes[sizeof(expected)];
        size_t byte_len;

        check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
        check_equal(byte_len, sizeof(expected));
        check(memcmp(bytes, expected, sizeof(expected)) == 0);
}

/* Shorter, longer, with other bytes: it says so, or takes it for another request. */
static void any_bytes_may_come(void)
{
        unsigned char bytes[XAC_SEND_REQUEST_MAX + 100];
        struct send_decoded decoded;
        size_t byte_len;
        int refused = 0;

        chance.state = chance_seed();
        for (int round = 0; round < ROUNDS; round++) {
                const xac_send_request request = random_request();
                const int way = (int)chance_below(&chance, 3);

                check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
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
                isolated_test(what_cannot_be_sent_is_not_encoded),
                isolated_test(room_is_kept),
                isolated_test(the_longest_request_has_room),
                isolated_test(the_bytes_are_those_of_the_format),
                isolated_test(any_bytes_may_come),
                isolated_test(what_is_listed_is_decoded),
                isolated_test(a_request_for_a_list_is_told_from_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
