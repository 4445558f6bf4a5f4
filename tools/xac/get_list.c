/* SPDX-License-Identifier: MIT */
#include "tools/xac/get_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/say.h"
#include "send/send_list.h"
#include "tools/xac/tool.h"

int get_bytes(int socket, void *bytes, size_t byte_len)
{
        for (size_t done = 0; done < byte_len;) {
                const ssize_t some = read(socket, (char *)bytes + done, byte_len - done);

                if (some < 0 && errno == EINTR)
                        continue;
                if (some <= 0)
                        return some ? -errno : -ECONNRESET;
                done += (size_t)some;
        }
        return 0;
}

static void print_size(uint32_t byte_len, bool is_fixed)
{
        if (is_fixed)
                say(stdout, "\t%" PRIu32, byte_len);
        else
                say(stdout, "\tany");
}

static void print_entry(const struct send_listed *listed)
{
        tool_print_bytes(listed->file, strlen(listed->file));
        if (listed->tree[0]) {
                putchar('\t');
                tool_print_bytes(listed->tree, strlen(listed->tree));
                print_size(listed->key_bytes, listed->key_bytes > 0);
                print_size(listed->value_bytes, listed->key_bytes > 0);
                putchar('\n');
        } else {
                say(stdout, "\t\t%" PRIu64 " pages of %" PRIu32 " bytes\n", listed->pages, listed->page_bytes);
        }
}

/* 1: that was the last one. */
static int take_entry(int socket)
{
        unsigned char bytes[SEND_LISTED_MAX + SEND_MESSAGE_MAX];
        struct send_listed listed;
        struct send_frame head;
        int err = get_bytes(socket, &head, sizeof(head));

        if (err)
                return err;
        head = send_frame_order(head);
        if (head.byte_len > sizeof(bytes))
                return -EPROTO;
        err = get_bytes(socket, bytes, (size_t)head.byte_len);
        if (err)
                return err;
        if (head.kind == SEND_END)
                return 1;
        if (head.kind == SEND_ERROR && head.byte_len >= SEND_ERROR_BYTES)
                return send_error_code((int32_t)send_load_u32(bytes));
        err = head.kind == SEND_LISTED && !head.count ? send_listed_decode(bytes, (size_t)head.byte_len, &listed)
                                                      : -EPROTO;
        if (!err)
                print_entry(&listed);
        return err;
}

int get_list(int socket)
{
        const struct send_frame request = send_frame_order((struct send_frame){ SEND_LIST, 0, 0 });
        int result = 0;

        if (send(socket, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
                return -errno;
        while (!result)
                result = take_entry(socket);
        if (result == 1)
                result = fflush(stdout) ? -errno : 0;
        return result;
}
