/* SPDX-License-Identifier: MIT */
#include "send/segment.h"

#include <errno.h>
#include <stdlib.h>

/* ---- reading ---- */

static xac_tree_leaf leaf_of(const struct segment_shape *shape, const struct segment *segment)
{
        return (xac_tree_leaf){ .page = segment->page,
                                .page_bytes = shape->page_bytes,
                                .count = segment->first + segment->base_count,
                                .tree_id = shape->tree_id,
                                .options = shape->options };
}

static void show_base(const struct segment_shape *shape, const struct segment *segment, uint32_t i,
                      xac_tree_record *record)
{
        if (shape->stride) {
                const unsigned char *row = segment_base(segment) + i * shape->stride;
                *record = (xac_tree_record){ row, SEND_FIXED_KEY_BYTES, row + SEND_FIXED_KEY_BYTES,
                                             shape->options.value_bytes };
        } else if (segment->kind == SEGMENT_PAGE) {
                const xac_tree_leaf leaf = leaf_of(shape, segment);
                xac_tree_leaf_record(&leaf, segment->first + i, record);
        } else {
                cells_record(segment->cells, i, record);
        }
}

void segment_record(const struct segment_shape *shape, const struct segment *segment, uint32_t i,
                    xac_tree_record *record)
{
        const struct overlay *overlay = segment->overlay;
        if (!overlay) {
                show_base(shape, segment, i, record);
                return;
        }
        const uint32_t source = overlay->order[i] >> ORDER_SHIFT, index = overlay->order[i] & ORDER_INDEX_MAX;
        if (source)
                cells_record(overlay->changes[source - 1], index, record);
        else
                show_base(shape, segment, index, record);
}

static uint32_t count_less_rows(const struct segment_shape *shape, const struct segment *segment, struct key key)
{
        uint32_t at = 0, end = segment->base_count;
        while (at < end) {
                const uint32_t middle = at + (end - at) / 2;
                const struct key row = { segment_base(segment) + middle * shape->stride, SEND_FIXED_KEY_BYTES };
                if (key_compare(row, key) < 0)
                        at = middle + 1;
                else
                        end = middle;
        }
        return at;
}

static uint32_t count_less_page(const struct segment_shape *shape, const struct segment *segment, struct key key)
{
        const xac_tree_leaf leaf = leaf_of(shape, segment);
        const uint32_t at = xac_tree_leaf_find(&leaf, key.bytes, key.len);
        if (at <= segment->first)
                return 0;
        return at - segment->first < segment->base_count ? at - segment->first : segment->base_count;
}

/* How many records of the base are less. */
static uint32_t count_less(const struct segment_shape *shape, const struct segment *segment, struct key key)
{
        if (segment->kind == SEGMENT_PAGE)
                return count_less_page(shape, segment, key);
        if (segment->kind == SEGMENT_ROWS)
                return count_less_rows(shape, segment, key);
        return cells_find(segment->cells, key);
}

/* What is looked for in the base is looked for there: of its records only the indices are compared here. */
uint32_t segment_find(const struct segment_shape *shape, const struct segment *segment, struct key key)
{
        const uint32_t less = count_less(shape, segment, key);
        const struct overlay *overlay = segment->overlay;
        uint32_t at = 0, end = segment->count;
        if (!overlay)
                return less;
        while (at < end) {
                const uint32_t middle = at + (end - at) / 2;
                const uint32_t source = overlay->order[middle] >> ORDER_SHIFT;
                const uint32_t index = overlay->order[middle] & ORDER_INDEX_MAX;
                if (source ? key_compare(cells_key(overlay->changes[source - 1], index), key) < 0 : index < less)
                        at = middle + 1;
                else
                        end = middle;
        }
        return at;
}

/* ---- making ---- */

static bool is_before_range(const struct segment_shape *shape, struct key key)
{
        return key_compare(key, shape->low) < 0;
}

static bool is_behind_range(const struct segment_shape *shape, struct key key)
{
        return shape->high.bytes && key_compare(key, shape->high) >= 0;
}

/* Only the range counts of a page at one of its ends. Mostly both ends of a page are inside. */
static void clip_page(const struct segment_shape *shape, const xac_tree_leaf *leaf, struct segment *segment)
{
        xac_tree_record record;
        uint32_t first = 0, end = leaf->count;
        if (!leaf->count)
                return;
        xac_tree_leaf_record(leaf, 0, &record);
        if (is_before_range(shape, (struct key){ record.key, record.key_len }))
                first = xac_tree_leaf_find(leaf, shape->low.bytes, shape->low.len);
        xac_tree_leaf_record(leaf, leaf->count - 1, &record);
        if (is_behind_range(shape, (struct key){ record.key, record.key_len }))
                end = xac_tree_leaf_find(leaf, shape->high.bytes, shape->high.len);
        segment->first = first;
        segment->count = segment->base_count = end > first ? end - first : 0;
        if (segment->count) {
                xac_tree_leaf_record(leaf, first, &record);
                segment->offset = (size_t)((const char *)record.key - (const char *)leaf->page);
        }
}

/* Values in overflow pages are not here. */
static bool has_all_values(const xac_tree_leaf *leaf, const struct segment *segment)
{
        xac_tree_record record;
        for (uint32_t i = 0; i < segment->count; i++) {
                xac_tree_leaf_record(leaf, segment->first + i, &record);
                if (!record.value)
                        return false;
        }
        return true;
}

int segment_of_page(const struct segment_shape *shape, void *page, struct segment *segment)
{
        xac_tree_leaf leaf;
        if (xac_tree_leaf_open(page, shape->page_bytes, &shape->options, &leaf) || leaf.tree_id != shape->tree_id)
                return -EPROTO;
        *segment = (struct segment){ .kind = SEGMENT_PAGE, .page = page };
        clip_page(shape, &leaf, segment);
        return shape->stride || has_all_values(&leaf, segment) ? 0 : -EPROTO;
}

/* Records are sent one by one: none is outside of the range. */
static int check_bounds(const struct segment_shape *shape, const struct segment *segment)
{
        if (!segment->count)
                return 0;
        if (is_before_range(shape, segment_key(shape, segment, 0)) ||
            is_behind_range(shape, segment_key(shape, segment, segment->count - 1)))
                return -EPROTO;
        return 0;
}

int segment_of_cells(const struct segment_shape *shape, struct cells *cells, struct segment *segment)
{
        *segment = (struct segment){
                .kind = SEGMENT_CELLS, .count = cells->count, .base_count = cells->count, .cells = cells
        };
        return check_bounds(shape, segment);
}

static bool rows_ascend(const unsigned char *row, size_t stride, uint32_t count)
{
        for (; count > 1; count--, row += stride)
                if (memcmp(row, row + stride, SEND_FIXED_KEY_BYTES) >= 0)
                        return false;
        return true;
}

int segment_of_rows(const struct segment_shape *shape, struct rows *rows, size_t offset, uint32_t count,
                    struct segment *segment)
{
        *segment = (struct segment){
                .kind = SEGMENT_ROWS, .count = count, .base_count = count, .rows = rows, .offset = offset
        };
        if (count && !rows_ascend(rows->bytes + offset, shape->stride, count))
                return -EPROTO;
        return check_bounds(shape, segment);
}

void segment_free(struct segment *segment)
{
        if (segment->kind == SEGMENT_ROWS)
                rows_release(segment->rows);
        else if (segment->kind == SEGMENT_PAGE)
                free(segment->page);
        else
                free(segment->cells);
        for (uint32_t i = 0; segment->overlay && i < segment->overlay->deltas; i++)
                free(segment->overlay->changes[i]);
        free(segment->overlay);
}

static uint64_t base_bytes(const struct segment_shape *shape, const struct segment *segment)
{
        if (segment->kind == SEGMENT_PAGE)
                return shape->page_bytes;
        return segment->kind == SEGMENT_ROWS ? segment->base_count * shape->stride : segment->cells->byte_len;
}

uint64_t segment_bytes(const struct segment_shape *shape, const struct segment *segment)
{
        const struct overlay *overlay = segment->overlay;
        uint64_t byte_len = sizeof(*segment) + base_bytes(shape, segment);
        for (uint32_t i = 0; overlay && i < overlay->deltas; i++)
                byte_len += overlay->changes[i]->byte_len;
        return overlay ? byte_len + (uint64_t)segment->count * sizeof(overlay->order[0]) : byte_len;
}

/* ---- changes ---- */

/* An overlay that is being made: the order of the old segment, and changes that come into it. */
struct merge {
        const struct segment_shape *shape;
        const struct segment *old;
        struct overlay *made;
        uint32_t at;    /* as far as the old records are in it */
        uint32_t count; /* records that are in it */
};

static void take_old(struct merge *merge, uint32_t end)
{
        const struct overlay *overlay = merge->old->overlay;
        for (; merge->at < end; merge->at++)
                merge->made->order[merge->count++] = overlay ? overlay->order[merge->at] : merge->at;
}

static void take_change(struct merge *merge, const struct cells *changes, uint32_t i)
{
        const struct key key = cells_key(changes, i);
        take_old(merge, segment_find(merge->shape, merge->old, key));
        if (merge->at < merge->old->count && key_compare(segment_key(merge->shape, merge->old, merge->at), key) == 0)
                merge->at++;
        if (!cells_is_gone(changes, i))
                merge->made->order[merge->count++] = merge->made->deltas << ORDER_SHIFT | i;
}

int segment_change(const struct segment_shape *shape, struct segment *segment, struct cells *changes)
{
        /* Changes of what is outside of the range do not count, like the records there. */
        const uint32_t first = cells_find(changes, shape->low);
        const uint32_t end = shape->high.bytes ? cells_find(changes, shape->high) : changes->count;
        const uint64_t most = (uint64_t)segment->count + changes->count;
        struct overlay *old = segment->overlay;
        if (most > ORDER_INDEX_MAX || (old && old->deltas == SEND_DELTAS_MAX))
                return -EPROTO;
        struct overlay *made = malloc(sizeof(*made) + (size_t)most * sizeof(made->order[0]));
        if (!made)
                return -ENOMEM;
        made->deltas = old ? old->deltas : 0;
        if (old)
                memcpy(made->changes, old->changes, sizeof(made->changes));
        made->changes[made->deltas++] = changes;
        struct merge merge = { .shape = shape, .old = segment, .made = made };
        for (uint32_t i = first; i < end; i++)
                take_change(&merge, changes, i);
        take_old(&merge, segment->count);
        free(old);
        segment->overlay = made;
        segment->count = merge.count;
        return 0;
}
