/* SPDX-License-Identifier: MIT */

/*
 * request: any bytes that a client may send to a server. What send_request_decode() takes for a request is one: encoded
 * again it is the same bytes. And what a server may say that it has, the same way.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "send/send_list.h"
#include "send/send_request.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_target[] = "request";

/* Its length says how long the fields are, so that most inputs come so far; or they say it themselves. */
static struct send_frame make_head(const uint8_t *bytes, size_t byte_len)
{
        struct send_frame head = { SEND_GET, 0, byte_len };

        if (byte_len > sizeof(head) && bytes[0] == 'h') {
                memcpy(&head, bytes, sizeof(head));
                head.byte_len = byte_len;
        } else if (!byte_len || bytes[0] == 'l') {
                head.kind = SEND_LIST;
        }
        return head;
}

static void try_listed(const uint8_t *bytes, size_t byte_len)
{
        static unsigned char again[sizeof(struct send_frame) + SEND_LISTED_MAX];
        struct send_listed listed;
        int err = send_listed_decode(bytes, byte_len, &listed);

        fuzz_check(err == 0 || err == -EPROTO);
        if (err)
                return;
        fuzz_check(send_listed_encode(&listed, again) == sizeof(struct send_frame) + byte_len);
        fuzz_check(memcmp(again + sizeof(struct send_frame), bytes, byte_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        static unsigned char again[XAC_SEND_REQUEST_MAX];
        static struct send_decoded decoded;
        const struct send_frame head = make_head(bytes, byte_len);
        unsigned char *body;
        size_t again_len = 0;

        if (byte_len > 2 * (size_t)SEND_GET_MAX)
                return 0;
        body = malloc(byte_len ? byte_len : 1); /* so that a look behind it is noticed */
        if (!body)
                return 0;
        if (byte_len)
                memcpy(body, bytes, byte_len);
        int err = send_request_decode(&head, body, &decoded);
        fuzz_check(err == 0 || err == -EPROTO);
        fuzz_check(err || head.kind != SEND_LIST);
        fuzz_check(send_request_is_list(&head) == (head.kind == SEND_LIST && !byte_len));
        try_listed(body, byte_len);
        if (!err) {
                fuzz_check(xac_send_request_encode(&decoded.request, again, sizeof(again), &again_len) == 0);
                fuzz_check(again_len == sizeof(head) + byte_len);
                fuzz_check(memcmp(again + sizeof(head), bytes, byte_len) == 0);
        }
        free(body);
        return 0;
}
