/* SPDX-License-Identifier: MIT */
#include "send/range.h"

#include <errno.h>
#include <stdlib.h>

void segments_free(struct segments *segments, size_t first)
{
        for (size_t i = first; i < segments->count; i++)
                segment_free(&segments->at[i]);
        free(segments->at);
        *segments = (struct segments){ 0 };
}

int segments_reserve(struct segments *segments, size_t more)
{
        enum { FEW = 16 };
        size_t room = segments->room * 2 > FEW ? segments->room * 2 : FEW;
        if (more <= segments->room - segments->count)
                return 0;
        if (room < segments->count + more)
                room = segments->count + more;
        struct segment *grown = reallocarray(segments->at, room, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        segments->at = grown;
        segments->room = room;
        return 0;
}

void range_clear(struct xac_range *range)
{
        struct incoming *incoming = &range->incoming;
        segments_free(&range->segments, 0);
        segments_free(&incoming->old, incoming->old_at);
        rows_release(incoming->rows);
        rows_release(range->rows);
        range->rows = NULL;
        free(incoming->cells);
        free(incoming->page);
        memset(incoming, 0, sizeof(*incoming));
        range->shape = (struct segment_shape){ 0 };
        range->sequence = 0;
        range->is_cut = false;
        range_rewind(range);
}

int xac_range_open(xac_range **range)
{
        if (!range)
                return -EINVAL;
        *range = calloc(1, sizeof(**range));
        return *range ? 0 : -ENOMEM;
}

void xac_range_close(xac_range *range)
{
        if (!range)
                return;
        range_clear(range);
        free(range->staged);
        free(range);
}

uint64_t xac_range_sequence(const xac_range *range)
{
        return range->sequence;
}

int xac_range_is_cut(const xac_range *range)
{
        return range->is_cut;
}

int xac_range_array(const xac_range *range, const void **records, size_t *count, size_t *stride)
{
        const struct segment_shape *shape = &range->shape;
        const struct segments *segments = &range->segments;
        const unsigned char *first = NULL;
        size_t seen = 0;
        if (!range->sequence || !shape->stride)
                return -ENOTSUP;
        for (size_t i = 0; i < segments->count; i++) {
                const struct segment *segment = &segments->at[i];
                if (segment->kind != SEGMENT_ROWS || segment->overlay)
                        return -ENOTSUP;
                if (!segment->count)
                        continue;
                if (!first)
                        first = segment_base(segment);
                if (segment_base(segment) != first + seen * shape->stride)
                        return -ENOTSUP;
                seen += segment->count;
        }
        *records = first;
        *count = seen;
        *stride = shape->stride;
        return 0;
}
