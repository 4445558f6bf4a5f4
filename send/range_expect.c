/* SPDX-License-Identifier: MIT */
#include "send/range.h"

#include <errno.h>
#include <string.h>

#include "send/reserved.h"

/* What was asked for bounds what is taken. */

static void keep_key(struct expected_key *kept, const void *key, size_t len)
{
        if (len)
                memcpy(kept->bytes, key, len);
        kept->len = len;
}

/* Then the server may choose pages as well. */
static bool is_left_open(const xac_send_request *request)
{
        return request->way == XAC_SEND_AUTO && !request->max_records && !request->max_bytes;
}

int xac_range_expect(xac_range *range, const xac_send_request *request)
{
        if (!range)
                return -EINVAL;
        struct expected *expected = &range->expected;
        if (!request) {
                expected->is_any = false;
                return 0;
        }
        const size_t from_len = request->from ? request->from_len : 0, to_len = request->to ? request->to_len : 0;
        if (!request->tree || send_request_has_more(request) || from_len > XAC_TREE_KEY_MAX ||
            to_len > XAC_TREE_KEY_MAX)
                return -EINVAL;
        keep_key(&expected->from, request->from, from_len);
        keep_key(&expected->to, request->to, to_len);
        expected->sequence = request->sequence;
        expected->base_sequence = request->base_sequence;
        expected->max_records = request->max_records;
        expected->max_bytes = request->max_bytes;
        expected->has_pages = request->way == XAC_SEND_PAGES || is_left_open(request);
        expected->is_any = true;
        return 0;
}

int xac_range_limit(xac_range *range, uint64_t byte_len)
{
        if (!range)
                return -EINVAL;
        range->limit = byte_len;
        return 0;
}

/* What the frame will have when all of it is there. */
static uint64_t claim(const struct xac_range *range, const struct send_frame *frame)
{
        const struct incoming *incoming = &range->incoming;
        switch (frame->kind) {
        case SEND_RECORDS:
                return frame->byte_len + sizeof(struct segment);
        case SEND_PAGES:
                return frame->byte_len + frame->count * (uint64_t)sizeof(struct segment);
        case SEND_DELTA:
                return segment_bytes(&range->shape, &incoming->old.at[incoming->old_at]) + frame->byte_len +
                       frame->count * (uint64_t)sizeof(uint32_t);
        default:
                return 0;
        }
}

/* The segments that are kept cost what they did: keep() counts them. */
bool range_has_room(struct xac_range *range, const struct send_frame *frame)
{
        struct incoming *incoming = &range->incoming;
        incoming->held += claim(range, frame);
        return !range->limit || incoming->held <= range->limit;
}

static bool is_key(const struct expected_key *expected, const unsigned char *key, size_t len)
{
        return len == expected->len && memcmp(key, expected->bytes, len) == 0;
}

/* Who names no commit wants the newest one, which is not older than what it has. */
static bool is_expected_commit(const struct expected *expected, const struct send_begin *begin)
{
        if (begin->base_sequence && begin->base_sequence != expected->base_sequence)
                return false;
        return expected->sequence ? begin->sequence == expected->sequence : begin->sequence >= expected->base_sequence;
}

bool range_is_expected(const struct xac_range *range, const struct send_begin *begin, const unsigned char *bounds)
{
        const struct expected *expected = &range->expected;
        if (!expected->is_any)
                return true;
        return is_key(&expected->from, bounds, begin->from_len) &&
               is_key(&expected->to, bounds + begin->from_len, begin->to_len) && is_expected_commit(expected, begin);
}

/* One record may be as long as it is. */
static bool is_within(const struct expected *expected, const struct incoming *incoming)
{
        if (expected->max_records && incoming->records > expected->max_records)
                return false;
        return !expected->max_bytes || incoming->record_bytes <= expected->max_bytes || incoming->records == 1;
}

bool range_count_records(struct xac_range *range, const struct send_frame *frame)
{
        const struct expected *expected = &range->expected;
        struct incoming *incoming = &range->incoming;
        const bool is_of_pages = frame->kind >= SEND_PAGES && frame->kind <= SEND_DELTA;
        if (is_of_pages)
                return !expected->is_any || expected->has_pages;
        if (frame->kind != SEND_RECORDS)
                return true;
        incoming->records += frame->count;
        incoming->record_bytes += frame->byte_len;
        if (!range->shape.stride)
                incoming->record_bytes -= (uint64_t)frame->count * sizeof(struct send_lengths);
        return !expected->is_any || expected->has_pages || is_within(expected, incoming);
}

bool range_is_expected_end(const struct xac_range *range, const struct send_end *end)
{
        const struct expected *expected = &range->expected;
        const bool has_limit = expected->max_records || expected->max_bytes;
        if (end->records && end->records != range->incoming.records)
                return false;
        return !expected->is_any || has_limit || !(end->flags & SEND_IS_CUT);
}
