/* SPDX-License-Identifier: MIT */

/*
 * get: any bytes that a server may send to `xac get` for a list, or for pages of a file. A list ends, and names no more
 * than there can be; pages come in their order, and what they need does not grow.
 *
 *      first byte   bit 0: a list; else pages
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recovery/page_name.h"
#include "send/send_format.h"
#include "tests/fuzz/fuzz.h"
#include "tools/xac/get_list.h"
#include "tools/xac/get_pages.h"

const char fuzz_target[] = "get";

enum { SECOND_NS = 1000000000, STREAM_MAX = 32768 };

/* Through a socket that ends behind the bytes. */
static void try_list(const uint8_t *bytes, size_t byte_len)
{
        struct peer peer = { .silence_ns = SECOND_NS, .end_ns = UINT64_MAX };
        int sockets[2];

        if (byte_len > STREAM_MAX)
                return;
        fuzz_check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
        fuzz_check(!byte_len || send(sockets[1], bytes, byte_len, MSG_NOSIGNAL) == (ssize_t)byte_len);
        fuzz_check(!shutdown(sockets[1], SHUT_WR));
        peer.socket = sockets[0];
        const int err = get_list(&peer);
        fuzz_check(err <= 0 && err != -ETIMEDOUT);
        close(sockets[0]);
        close(sockets[1]);
}

/* What take_frame() of get.c does, from memory. */
static void try_pages(struct fuzz_input *input)
{
        struct get_pages pages = { 0 };
        struct send_frame head;
        uint64_t before;
        int step = GET_HEAD;

        while (step == GET_HEAD && input->left >= sizeof(head)) {
                unsigned char *rest;
                size_t byte_len;

                fuzz_bytes(input, &head, sizeof(head));
                if (get_pages_head(&pages, &head, &byte_len) < 0)
                        return;
                fuzz_check(byte_len <= GET_REST_MAX);
                if (input->left < byte_len)
                        return;
                rest = fuzz_alloc(byte_len);
                fuzz_bytes(input, rest, byte_len);
                before = pages.next_page;
                step = get_pages_rest(&pages, &head, rest, byte_len);
                free(rest);
                fuzz_check(pages.next_page <= PAGE_NAME_NUMBERS);
                if (step != GET_PAGES)
                        continue;
                fuzz_check(pages.next_page > before && pages.left == (pages.next_page - before) * pages.page_bytes);
                step = GET_HEAD; /* as if its pages had come */
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        static FILE *nowhere;
        struct fuzz_input input = { bytes, byte_len };
        FILE *const said = stdout;

        if (!nowhere)
                nowhere = fopen("/dev/null", "we");
        fuzz_check(nowhere);
        stdout = nowhere; /* for what is listed */
        if (fuzz_u8(&input) & 1)
                try_list(input.bytes, input.left);
        else
                try_pages(&input);
        stdout = said;
        return 0;
}
