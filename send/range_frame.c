/* SPDX-License-Identifier: MIT */
#include "send/range.h"

#include <errno.h>
#include <stdlib.h>

/* What frames mean. Each has two moments: its header is there, and all of it is. */

/* ---- headers: whether the lengths can be ---- */

static bool is_small(const struct send_frame *frame, size_t fixed_bytes, size_t more)
{
        return !frame->count && frame->byte_len >= fixed_bytes && frame->byte_len <= fixed_bytes + more;
}

enum { CELL_BYTES_MAX = sizeof(struct send_lengths) + XAC_TREE_KEY_MAX + XAC_TREE_VALUE_MAX };

/* Each has a table's entry and a byte of a key at least. */
static bool may_be_cells(const struct send_frame *frame)
{
        return frame->byte_len >= frame->count * (uint64_t)(sizeof(struct send_lengths) + 1) &&
               frame->byte_len <= frame->count * (uint64_t)CELL_BYTES_MAX && frame->byte_len <= CELLS_BYTES_MAX;
}

static bool may_be_records(const struct xac_range *range, const struct send_frame *frame)
{
        const uint64_t stride = range->shape.stride;
        return stride ? frame->byte_len == frame->count * stride : may_be_cells(frame);
}

static bool has_delta(const struct xac_range *range)
{
        const struct incoming *incoming = &range->incoming;
        if (incoming->old_at == incoming->old.count)
                return false;
        const struct overlay *overlay = incoming->old.at[incoming->old_at].overlay;
        return !overlay || overlay->deltas < SEND_DELTAS_MAX;
}

static bool may_be(const struct xac_range *range, const struct send_frame *frame)
{
        const struct incoming *incoming = &range->incoming;
        switch (frame->kind) {
        case SEND_BEGIN:
                return !incoming->has_begun && is_small(frame, sizeof(struct send_begin), 2UL * XAC_TREE_KEY_MAX);
        case SEND_ERROR:
                return is_small(frame, SEND_ERROR_BYTES, SEND_MESSAGE_MAX);
        case SEND_END:
                return incoming->has_begun && is_small(frame, sizeof(struct send_end), 0);
        case SEND_RECORDS:
                return incoming->has_begun && may_be_records(range, frame);
        case SEND_PAGES:
                return incoming->has_begun && frame->byte_len == (uint64_t)frame->count * range->shape.page_bytes;
        case SEND_KEEP:
        case SEND_DROP:
                return incoming->has_begun && !frame->byte_len &&
                       frame->count <= incoming->old.count - incoming->old_at;
        case SEND_DELTA:
                return incoming->has_begun && may_be_cells(frame) && has_delta(range);
        default:
                return false;
        }
}

static enum incoming_state state_of(const struct xac_range *range, const struct send_frame *frame)
{
        switch (frame->kind) {
        case SEND_RECORDS:
                return range->shape.stride ? INCOMING_ROWS : INCOMING_CELLS;
        case SEND_DELTA:
                return INCOMING_CELLS;
        case SEND_PAGES:
                return INCOMING_PAGE;
        default:
                return INCOMING_SMALL;
        }
}

/* Nobody sends one: each would take a place for nothing. */
static bool is_empty(const struct send_frame *frame)
{
        return frame->kind >= SEND_RECORDS && frame->kind <= SEND_DELTA && !frame->count;
}

int range_begin_frame(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        const struct send_frame frame = send_frame_order(incoming->header);
        if (!may_be(range, &frame) || is_empty(&frame) || !range_count_records(range, &frame))
                return -EPROTO;
        if (!range_has_room(range, &frame))
                return -EFBIG;
        if (frame.byte_len > SIZE_MAX / 2)
                return -ENOMEM;
        incoming->frame = frame;
        incoming->left = frame.byte_len;
        incoming->have = 0;
        incoming->state = state_of(range, &frame);
        incoming->cells_index = (struct cells_index){ 0 };
        incoming->rows_begin = incoming->rows ? incoming->rows->used : 0;
        return 0;
}

/* ---- segments, in order ---- */

static struct key first_key(const struct xac_range *range, const struct segment *segment)
{
        return segment_key(&range->shape, segment, 0);
}

/* Whether records may stand behind all there are. */
static bool may_follow(const struct xac_range *range, const struct segment *segment)
{
        const struct segments *segments = &range->segments;
        if (!segments->full)
                return true;
        const struct segment *last = &segments->at[segments->full - 1];
        return key_compare(segment_key(&range->shape, last, last->count - 1), first_key(range, segment)) < 0;
}

/* Appends a segment for which there is room; it is taken over in any case. */
static int append(struct xac_range *range, const struct segment *segment)
{
        struct segments *segments = &range->segments;
        const bool is_in_order = !segment->count || may_follow(range, segment);
        segments->at[segments->count++] = *segment;
        if (segment->count)
                segments->full = segments->count;
        return is_in_order ? 0 : -EPROTO;
}

int range_end_page(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        struct segment segment;
        int err = segments_reserve(&range->segments, 1);
        if (!err)
                err = segment_of_page(&range->shape, incoming->page, &segment);
        if (err)
                return err;
        incoming->page = NULL;
        incoming->have = 0;
        err = append(range, &segment);
        if (!err && !segment.count && ++incoming->empty_pages > EMPTY_PAGES_MAX)
                err = -EPROTO;
        return err;
}

/* Changes have a table in any case. */
int range_judge_cells(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        const xac_tree_options *options = &range->shape.options;
        const struct cells_rule records = { 0 }, changes = { options->key_bytes, options->value_bytes, true };
        incoming->cells->count = incoming->frame.count;
        incoming->cells->byte_len = incoming->frame.byte_len;
        return cells_index(incoming->cells, incoming->frame.kind == SEND_DELTA ? &changes : &records, incoming->have,
                           &incoming->cells_index);
}

/* The cells belong to a segment now. */
static void forget_cells(struct incoming *incoming)
{
        incoming->cells = NULL;
        incoming->cells_room = 0;
}

static int end_cells(struct xac_range *range)
{
        struct segment segment;
        int err = segments_reserve(&range->segments, 1);
        if (!err)
                err = cells_parse(range->incoming.cells);
        if (!err)
                err = segment_of_cells(&range->shape, range->incoming.cells, &segment);
        if (err)
                return err;
        forget_cells(&range->incoming);
        return append(range, &segment);
}

static int end_rows(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        struct segment segment;
        int err = segments_reserve(&range->segments, 1);
        if (!err && !incoming->rows && !(incoming->rows = rows_new())) /* there are no records */
                err = -ENOMEM;
        if (!err)
                err = segment_of_rows(&range->shape, incoming->rows, incoming->rows_begin, incoming->frame.count,
                                      &segment);
        if (err)
                return err;
        incoming->rows->holders++;
        return append(range, &segment);
}

/* ---- what becomes of the old ones ---- */

/* Those side by side are in order as they were: only the first record is to be looked at. */
static int keep(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        struct segments *segments = &range->segments;
        const size_t count = incoming->frame.count;
        bool is_first = true;
        if (!count)
                return 0;
        int err = segments_reserve(segments, count);
        if (err)
                return err;
        const struct segment *kept = incoming->old.at + incoming->old_at;
        for (size_t i = 0; i < count; i++) {
                incoming->held += segment_bytes(&range->shape, &kept[i]);
                if (!kept[i].count)
                        continue;
                if (is_first && !may_follow(range, &kept[i]))
                        return -EPROTO;
                is_first = false;
                segments->full = segments->count + i + 1;
        }
        memcpy(segments->at + segments->count, kept, count * sizeof(*kept));
        segments->count += count;
        incoming->old_at += count;
        return 0;
}

static void drop(struct incoming *incoming)
{
        for (uint32_t i = 0; i < incoming->frame.count; i++)
                segment_free(&incoming->old.at[incoming->old_at++]);
}

static int end_delta(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        struct segment *old = &incoming->old.at[incoming->old_at];
        int err = segments_reserve(&range->segments, 1);
        if (!err)
                err = cells_parse(incoming->cells);
        if (!err)
                err = segment_change(&range->shape, old, incoming->cells);
        if (err)
                return err;
        forget_cells(incoming);
        incoming->old_at++;
        return append(range, old);
}

/* ---- BEGIN, END, ERROR ---- */

static bool is_tree(const struct send_begin *begin)
{
        if (begin->key_bytes)
                return begin->key_bytes == SEND_FIXED_KEY_BYTES && begin->value_bytes <= XAC_TREE_FIXED_VALUE_MAX;
        return !begin->value_bytes;
}

static bool is_bound(const struct send_begin *begin, uint32_t len)
{
        return begin->key_bytes ? !len || len == begin->key_bytes : len <= XAC_TREE_KEY_MAX;
}

static bool is_sound(const struct send_begin *begin, uint64_t byte_len)
{
        return begin->sequence && send_is_page_size(begin->page_bytes) && is_tree(begin) &&
               is_bound(begin, begin->from_len) && is_bound(begin, begin->to_len) &&
               byte_len == sizeof(*begin) + begin->from_len + begin->to_len;
}

/* Whether changes of what there is can be meant: the same range of the same tree, as of that commit. */
static bool is_base(const struct xac_range *range, const struct send_begin *begin, const unsigned char *bounds)
{
        const struct segment_shape *shape = &range->shape;
        const struct key low = { bounds, begin->from_len }, high = { bounds + begin->from_len, begin->to_len };
        return range->sequence == begin->base_sequence && shape->page_bytes == begin->page_bytes &&
               shape->tree_id == begin->tree_id && shape->options.key_bytes == begin->key_bytes &&
               shape->options.value_bytes == begin->value_bytes && key_compare(shape->low, low) == 0 &&
               key_compare(shape->high, high) == 0;
}

static void set_shape(struct xac_range *range, const struct send_begin *begin, const unsigned char *bounds)
{
        memcpy(range->low, bounds, begin->from_len);
        memcpy(range->high, bounds + begin->from_len, begin->to_len);
        range->shape = (struct segment_shape){
                .options = { .key_bytes = begin->key_bytes, .value_bytes = begin->value_bytes },
                .page_bytes = begin->page_bytes,
                .tree_id = begin->tree_id,
                .stride = begin->key_bytes ? begin->key_bytes + begin->value_bytes : 0,
                .low = { range->low, begin->from_len },
                .high = { begin->to_len ? range->high : NULL, begin->to_len },
        };
}

/* Fresh memory costs a page fault for each page: that of rows which nobody has any more is as good. */
static void reuse_rows(struct xac_range *range)
{
        if (range->rows && range->rows->holders == 1) {
                range->incoming.rows = range->rows;
                range->rows->used = 0;
        } else {
                rows_release(range->rows);
        }
        range->rows = NULL;
}

static int end_begin(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        const unsigned char *bounds = incoming->small + sizeof(struct send_begin);
        struct send_begin begin;
        memcpy(&begin, incoming->small, sizeof(begin));
        begin = send_begin_order(begin);
        if (!is_sound(&begin, incoming->frame.byte_len))
                return -EPROTO;
        if (begin.base_sequence && !is_base(range, &begin, bounds))
                return -EPROTO;
        if (!range_is_expected(range, &begin, bounds))
                return -EPROTO;
        incoming->old = range->segments;
        incoming->old_at = 0;
        range->segments = (struct segments){ 0 };
        if (!begin.base_sequence)
                segments_free(&incoming->old, 0);
        reuse_rows(range);
        range->sequence = 0;
        range->is_cut = false;
        range_rewind(range);
        set_shape(range, &begin, bounds);
        incoming->sequence = begin.sequence;
        incoming->has_begun = true;
        return 0;
}

static int end_end(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        struct send_end end;
        memcpy(&end, incoming->small, sizeof(end));
        end = send_end_order(end);
        if (end.flags & ~(uint64_t)SEND_IS_CUT || !range_is_expected_end(range, &end))
                return -EPROTO;
        segments_free(&incoming->old, incoming->old_at);
        if (incoming->rows)
                rows_finish(incoming->rows);
        range->rows = incoming->rows;
        range->sequence = incoming->sequence;
        range->is_cut = (end.flags & SEND_IS_CUT) != 0;
        *incoming = (struct incoming){ 0 };
        range_rewind(range);
        return 1;
}

static int end_error(const struct incoming *incoming)
{
        return send_error_code((int32_t)send_load_u32(incoming->small));
}

int range_end_frame(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        int outcome = 0;
        switch (incoming->frame.kind) {
        case SEND_BEGIN:
                outcome = end_begin(range);
                break;
        case SEND_RECORDS:
                outcome = range->shape.stride ? end_rows(range) : end_cells(range);
                break;
        case SEND_KEEP:
                outcome = keep(range);
                break;
        case SEND_DROP:
                drop(incoming);
                break;
        case SEND_DELTA:
                outcome = end_delta(range);
                break;
        case SEND_END:
                outcome = end_end(range);
                break;
        case SEND_ERROR:
                outcome = end_error(incoming);
                break;
        default: /* PAGES: each is there already */
                break;
        }
        incoming->state = INCOMING_HEADER;
        incoming->have = 0;
        return outcome;
}
