/* SPDX-License-Identifier: MIT */
#include "trees/cobindex.h"

#include <errno.h>

#include "trees/cobindex_extent.h"
#include "trees/cobindex_top.h"

int cobindex_use_first(const struct cobindex *index, struct cobindex_place *place)
{
        struct top top;
        struct extent extent;
        int err = top_open(index, &top);
        if (!err)
                err = top_extent(&top, 0, &extent);
        if (!err && pma_is_used(extent_used(&extent), 0))
                err = XAC_CORRUPT;
        if (err)
                return err;
        *place = (struct cobindex_place){ 0, extent.group, 0 };
        return extent_set_used(&extent, 0, true);
}

/* Directly behind, so that segments are side by side and gaps stay in one piece; where segments are split downwards at
 * the other end of the gap, as nobody goes there next. */
static unsigned choose_in_gap(const struct extent *extent, enum cobindex_trend trend, unsigned i)
{
        const unsigned segments = extent->index->segments, end = pma_next(extent_used(extent), i + 1);
        return trend != COBINDEX_DOWNWARDS ? i + 1 : (end < segments ? end : segments) - 1;
}

int cobindex_place_behind(const struct cobindex *index, struct cobindex_place place, enum cobindex_trend trend,
                          struct cobindex_place *next, bool *is_free)
{
        struct extent extent;
        struct top top;
        *next = place;
        *is_free = false;
        if (place.i + 1 < index->segments) {
                int err = extent_open(index, place.group, &extent);
                if (err || pma_is_used(extent_used(&extent), place.i + 1))
                        return err;
                *is_free = true;
                next->i = choose_in_gap(&extent, trend, place.i);
                return 0;
        }
        int err = top_open(index, &top);
        if (err || place.extent + 1 >= top.extents)
                return err;
        err = top_extent(&top, place.extent + 1, &extent);
        if (err)
                return err;
        *next = (struct cobindex_place){ place.extent + 1, extent.group, 0 };
        *is_free = pma_next(extent_used(&extent), 0) == PMA_PLACES;
        return 0;
}

/* By chance an insert looks like one in order now and then, and one in order like another. */
static int note_trend(struct extent *extent, enum cobindex_trend trend)
{
        enum { IN_ORDER = 2, ANYWHERE = 1 };
        const unsigned streak = extent_streak(extent);
        if (trend == COBINDEX_ANYWHERE)
                return streak ? extent_set_streak(extent, streak - ANYWHERE) : 0;
        int err = extent_set_turn(extent, 0);
        if (err)
                return err;
        return streak + IN_ORDER <= UINT8_MAX ? extent_set_streak(extent, streak + IN_ORDER) : 0;
}

int cobindex_use_next(const struct cobindex *index, struct cobindex_place place, struct bpnode_key key,
                      enum cobindex_trend trend, const struct cobindex_place *next)
{
        struct extent extent;
        struct top top;
        struct separator separator;
        separator_make(index, key, &separator);
        int err = extent_open(index, next->group, &extent);
        if (!err && (next->i >= index->segments || pma_is_used(extent_used(&extent), next->i)))
                err = XAC_CORRUPT;
        if (err)
                return err;
        if (next->extent == place.extent) {
                err = extent_separate(&extent, next->i, &separator);
        } else {
                err = top_open(index, &top);
                if (!err)
                        err = top_separate(&top, next->extent, &separator);
        }
        if (!err)
                err = note_trend(&extent, trend);
        return err ? err : extent_set_used(&extent, next->i, true);
}

int cobindex_beside(const struct cobindex *index, struct cobindex_place place, struct cobindex_place *before,
                    struct cobindex_place *behind)
{
        struct extent extent;
        int err = extent_open(index, place.group, &extent);
        if (!err && (place.i >= index->segments || !pma_is_used(extent_used(&extent), place.i)))
                err = XAC_CORRUPT;
        *before = *behind = place;
        before->i = behind->i = PMA_PLACES;
        if (err || extent_is_in_order(&extent))
                return err;
        before->i = place.i ? pma_previous(extent_used(&extent), place.i - 1) : PMA_PLACES;
        behind->i = pma_next(extent_used(&extent), place.i + 1);
        return 0;
}

int cobindex_separate(const struct cobindex *index, struct cobindex_place place, struct bpnode_key key)
{
        struct extent extent;
        struct separator separator;
        separator_make(index, key, &separator);
        int err = extent_open(index, place.group, &extent);
        if (!err && (place.i >= index->segments || pma_next(extent_used(&extent), 0) >= place.i))
                err = XAC_CORRUPT;
        return err ? err : extent_separate(&extent, place.i, &separator);
}

int cobindex_append(const struct cobindex *index, struct cobindex_place place, struct bpnode_key key)
{
        struct extent extent;
        struct separator separator;
        separator_make(index, key, &separator);
        int err = extent_open(index, place.group, &extent);
        if (!err && (place.i >= index->segments || pma_next(extent_used(&extent), place.i) < PMA_PLACES))
                err = XAC_CORRUPT;
        if (!err && pma_next(extent_used(&extent), 0) < PMA_PLACES)
                err = extent_separate(&extent, place.i, &separator);
        return err ? err : extent_set_used(&extent, place.i, true);
}

/* Whoever still reads the page finds that it is none of the tree any more. */
static int clear_page(const struct cobindex *index, struct cobindex_place place)
{
        struct bpnode *page = arena_write(index->arena, cobindex_segment_page(index, place));
        if (!page)
                return ARENA_LOST;
        memset(page, 0, sizeof(*page));
        return 0;
}

/* An extent has become empty: before it stands what stands before the next one. Where all that are before it are empty,
 * too, the next one has the tree's first segment now (C2). */
static int vacate(const struct cobindex *index, struct cobindex_place place)
{
        struct top top;
        struct cobindex_place before = place, next = place;
        struct separator separator = separator_none;
        int err = top_open(index, &top);
        if (err || place.extent >= top.extents)
                return err;
        const int before_err = cobindex_previous(index, &before), next_err = cobindex_next(index, &next);
        if (before_err && before_err != -ENOENT)
                return before_err;
        if (next_err == -ENOENT)
                return top_separate(&top, place.extent, &separator);
        if (next_err)
                return next_err;
        if (before_err) {
                separator_make_least(index, &separator);
                return top_separate(&top, next.extent, &separator);
        }
        err = top_separator(&top, next.extent, &separator);
        return err ? err : top_separate(&top, place.extent, &separator);
}

int cobindex_free(const struct cobindex *index, struct cobindex_place place)
{
        struct extent extent;
        struct draft draft;
        int err = extent_open(index, place.group, &extent);
        if (!err && (place.i >= index->segments || !pma_is_used(extent_used(&extent), place.i)))
                err = XAC_CORRUPT;
        if (!err)
                err = extent_load_all(&extent, &draft);
        if (err)
                return err;
        pma_clear(&draft.used, place.i);
        err = extent_store(&extent, &draft);
        if (!err)
                err = clear_page(index, place);
        return err || pma_next(&draft.used, 0) < PMA_PLACES ? err : vacate(index, place);
}
