/* SPDX-License-Identifier: MIT */
#include "send/range.h"

#include <errno.h>

#include "send/fetch.h"

/* One step within a segment is one addition; what a segment is made of is asked when the cursor comes to it. */

void range_rewind(struct xac_range *range)
{
        range->place = (struct place){ 0 };
}

/* To a record of a segment that has so many. */
static int stand_at(struct xac_range *range, size_t segment_no, uint32_t i)
{
        const struct segment *segment = &range->segments.at[segment_no];
        const bool is_plain = range->shape.stride && !segment->overlay;
        range->place = (struct place){ .segment = segment_no,
                                       .i = i,
                                       .end = segment->count,
                                       .is_at = true,
                                       .base = is_plain ? segment_base(segment) : NULL };
        return 0;
}

/* To the first record from this segment on. */
static int stand_from(struct xac_range *range, size_t segment_no)
{
        const size_t count = range->sequence ? range->segments.count : 0;
        while (segment_no < count && !range->segments.at[segment_no].count)
                segment_no++;
        if (segment_no < count)
                return stand_at(range, segment_no, 0);
        range->place = (struct place){ .segment = segment_no };
        return -ENOENT;
}

int xac_range_first(xac_range *range)
{
        return stand_from(range, 0);
}

/* Who goes through a page with so many records will want the next segment: its page is fetched a few lines at a time,
 * as the processor forgets those that are too many. */
static void look_ahead(struct xac_range *range)
{
        struct place *place = &range->place;
        const size_t next_no = place->segment + 1;
        const struct segment *next = &range->segments.at[next_no];
        if (next_no == range->segments.count || next->kind != SEGMENT_PAGE)
                return;
        place->ahead = next->page;
        place->ahead_end = place->ahead + range->shape.page_bytes;
        place->ahead_step = ((size_t)range->shape.page_bytes / place->end / FETCH_LINE + 1) * FETCH_LINE;
}

static inline void fetch_ahead(struct place *place)
{
        if (place->ahead >= place->ahead_end)
                return;
        fetch_bytes(place->ahead, place->ahead_step);
        place->ahead += place->ahead_step;
}

int xac_range_next(xac_range *range)
{
        struct place *place = &range->place;
        if (place->i + 1 < place->end) {
                place->i++;
                fetch_ahead(place);
                return 0;
        }
        int err = stand_from(range, place->segment + place->is_at);
        if (!err)
                look_ahead(range);
        return err;
}

/* The first segment that has a record which is not less. Those without records are passed over. */
static size_t find_segment(const struct xac_range *range, struct key key)
{
        const struct segments *segments = &range->segments;
        size_t at = 0, end = segments->full;
        while (at < end) {
                const size_t middle = at + (end - at) / 2;
                size_t full = middle;
                while (full < end && !segments->at[full].count)
                        full++;
                if (full < end) {
                        const struct segment *segment = &segments->at[full];
                        if (key_compare(segment_key(&range->shape, segment, segment->count - 1), key) < 0) {
                                at = full + 1;
                                continue;
                        }
                }
                end = middle;
        }
        return at;
}

int xac_range_seek(xac_range *range, const void *key, size_t key_len)
{
        const struct key wanted = { key, key_len };
        if (!range->sequence)
                return stand_from(range, 0);
        int err = stand_from(range, find_segment(range, wanted));
        if (err)
                return err;
        const size_t segment_no = range->place.segment;
        return stand_at(range, segment_no, segment_find(&range->shape, &range->segments.at[segment_no], wanted));
}

int xac_range_record(const xac_range *range, xac_tree_record *record)
{
        const struct place *place = &range->place;
        const struct segment_shape *shape = &range->shape;
        if (!place->is_at)
                return -EINVAL;
        if (place->base) {
                const unsigned char *row = place->base + place->i * shape->stride;
                *record = (xac_tree_record){ row, SEND_FIXED_KEY_BYTES, row + SEND_FIXED_KEY_BYTES,
                                             shape->options.value_bytes };
        } else {
                segment_record(shape, &range->segments.at[place->segment], place->i, record);
        }
        return 0;
}
