/* SPDX-License-Identifier: MIT */
#include "tools/xac/get_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "recovery/manifest.h"
#include "recovery/page_name.h"
#include "send/send_list.h"
#include "tools/xac/tool.h"

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

/* The server may name as much as there can be: an environment has so many files, and each tree a page at least. */
struct listing {
        uint32_t files;
        uint64_t trees_left; /* of the file that was named last */
        char file[SEND_NAME_MAX + 1];
};

static bool may_be(struct listing *listing, const struct send_listed *listed)
{
        if (listed->tree[0])
                return listing->trees_left-- && !strcmp(listing->file, listed->file);
        if (listing->files++ == MANIFEST_FILES || listed->pages > PAGE_NAME_NUMBERS ||
            !send_is_page_size(listed->page_bytes))
                return false;
        listing->trees_left = listed->pages;
        strcpy(listing->file, listed->file);
        return true;
}

static int take_listed(struct listing *listing, const unsigned char *bytes, size_t byte_len)
{
        struct send_listed listed;
        int err = send_listed_decode(bytes, byte_len, &listed);

        if (err || !may_be(listing, &listed))
                return -EPROTO;
        print_entry(&listed);
        return 0;
}

/* 1: that was the last one. */
static int take_entry(struct peer *peer, struct listing *listing)
{
        unsigned char bytes[SEND_LISTED_MAX + SEND_MESSAGE_MAX];
        struct send_frame head;
        int err = peer_read_all(peer, &head, sizeof(head));

        if (err)
                return err;
        head = send_frame_order(head);
        if (head.count || head.byte_len > sizeof(bytes))
                return -EPROTO;
        err = peer_read_all(peer, bytes, (size_t)head.byte_len);
        if (err)
                return err;
        if (head.kind == SEND_END)
                return head.byte_len == sizeof(struct send_end) ? 1 : -EPROTO;
        if (head.kind == SEND_ERROR && head.byte_len >= SEND_ERROR_BYTES)
                return send_error_code((int32_t)send_load_u32(bytes));
        return head.kind == SEND_LISTED ? take_listed(listing, bytes, (size_t)head.byte_len) : -EPROTO;
}

int get_list(struct peer *peer)
{
        const struct send_frame request = send_frame_order((struct send_frame){ SEND_LIST, 0, 0 });
        struct listing listing = { 0 };
        int result = peer_ask(peer, &request, sizeof(request));

        while (!result)
                result = take_entry(peer, &listing);
        if (result == 1)
                result = fflush(stdout) ? -errno : 0;
        return result;
}
