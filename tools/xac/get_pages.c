/* SPDX-License-Identifier: MIT */
#include "tools/xac/get_pages.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <xac/send.h>

#include "recovery/page_name.h"
#include "send/send_format.h"

_Static_assert(GET_REST_MAX >= sizeof(struct send_begin) && GET_REST_MAX >= SEND_ERROR_BYTES + SEND_MESSAGE_MAX,
               "room");

static struct send_frame frame_of(const void *head)
{
        struct send_frame frame;

        memcpy(&frame, head, sizeof(frame));
        return send_frame_order(frame);
}

/* Its pages, and their number before them. */
static bool is_file_frame(const struct get_pages *pages, const struct send_frame *frame)
{
        return pages->page_bytes && frame->count && frame->count <= PAGE_NAME_NUMBERS - pages->next_page &&
               frame->byte_len == sizeof(uint64_t) + (uint64_t)frame->count * pages->page_bytes;
}

int get_pages_head(const struct get_pages *pages, const void *head, size_t *byte_len)
{
        const struct send_frame frame = frame_of(head);
        bool is_right = false;

        *byte_len = (size_t)frame.byte_len;
        switch (frame.kind) {
        case SEND_BEGIN:
                is_right = !pages->page_bytes && !frame.count && frame.byte_len == sizeof(struct send_begin);
                break;
        case SEND_FILE:
                is_right = is_file_frame(pages, &frame);
                *byte_len = sizeof(uint64_t);
                break;
        case SEND_END:
                is_right = pages->page_bytes && !frame.count && frame.byte_len == sizeof(struct send_end);
                break;
        case SEND_ERROR:
                is_right = !frame.count && frame.byte_len >= SEND_ERROR_BYTES &&
                           frame.byte_len <= SEND_ERROR_BYTES + SEND_MESSAGE_MAX;
                break;
        default:
                break;
        }
        return is_right ? GET_REST : -EPROTO;
}

static int begin(struct get_pages *pages, const void *rest)
{
        struct send_begin begin;

        memcpy(&begin, rest, sizeof(begin));
        begin = send_begin_order(begin);
        if (!begin.sequence || begin.base_sequence || !send_is_page_size(begin.page_bytes) || begin.from_len ||
            begin.to_len)
                return -EPROTO;
        pages->page_bytes = begin.page_bytes;
        return GET_HEAD;
}

static int begin_pages(struct get_pages *pages, const struct send_frame *frame, const void *rest)
{
        if (send_load_u64(rest) != pages->next_page)
                return -EPROTO;
        pages->next_page += frame->count;
        pages->left = (uint64_t)frame->count * pages->page_bytes;
        return GET_PAGES;
}

static int end(const void *rest)
{
        struct send_end end;

        memcpy(&end, rest, sizeof(end));
        end = send_end_order(end);
        return end.records || end.flags ? -EPROTO : GET_END;
}

int get_pages_rest(struct get_pages *pages, const void *head, const void *rest, size_t byte_len)
{
        const struct send_frame frame = frame_of(head);

        (void)byte_len;
        switch (frame.kind) {
        case SEND_BEGIN:
                return begin(pages, rest);
        case SEND_FILE:
                return begin_pages(pages, &frame, rest);
        case SEND_END:
                return end(rest);
        default:
                return send_error_code((int32_t)send_load_u32(rest));
        }
}
