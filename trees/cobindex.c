/* SPDX-License-Identifier: MIT */
#include "trees/cobindex.h"

#include <assert.h>
#include <errno.h>

#include "trees/cobindex_extent.h"
#include "trees/cobindex_top.h"

/* As many index pages as 511 nodes need. */
void cobindex_init(struct cobindex *index, struct xac_arena *arena, page_no root, const struct bpnode_shape *shape)
{
        enum { NODES = VEB_TABLE_NODES - 1 };
        const uint32_t node_bytes = shape->is_fixed ? BPNODE_FIXED_KEY : SEPARATOR_BYTES;
        *index = (struct cobindex){ .arena = arena, .root = root, .shape = *shape, .node_bytes = node_bytes };
        index->first_nodes = (uint32_t)((shape->page_bytes - sizeof(struct cobindex_first)) / node_bytes);
        index->page_nodes = (uint32_t)((shape->page_bytes - sizeof(struct cobindex_page)) / node_bytes);
        index->index_pages = 1;
        if (index->first_nodes < NODES)
                index->index_pages += (NODES - index->first_nodes + index->page_nodes - 1) / index->page_nodes;
        index->segments = GROUP_PAGES - 1 - index->index_pages;
        assert(index->index_pages <= EXTENT_PAGES_MAX);
}

/* ---- finding ---- */

/* The last used segment before an extent. */
static int last_before(const struct top *top, uint32_t number, struct cobindex_place *place)
{
        while (number--) {
                struct extent extent;
                int err = top_extent(top, number, &extent);
                if (err)
                        return err;
                unsigned i = pma_previous(extent_used(&extent), PMA_PLACES - 1);
                if (i == PMA_PLACES)
                        continue;
                *place = (struct cobindex_place){ number, extent.group, i };
                return 0;
        }
        return -ENOENT;
}

/* The first used segment from an extent on. */
static int first_from(const struct top *top, uint32_t number, struct cobindex_place *place)
{
        for (; number < top->extents; number++) {
                struct extent extent;
                int err = top_extent(top, number, &extent);
                if (err)
                        return err;
                unsigned i = pma_next(extent_used(&extent), 0);
                if (i == PMA_PLACES)
                        continue;
                *place = (struct cobindex_place){ number, extent.group, i };
                return 0;
        }
        return -ENOENT;
}

/* The extent that a key was led to is empty. */
static int find_beside(const struct top *top, struct cobindex_place *place, bool *is_used)
{
        const uint32_t number = place->extent;
        int err = last_before(top, number, place);
        if (err == -ENOENT)
                err = first_from(top, number, place);
        *is_used = !err;
        if (err != -ENOENT)
                return err;
        *place = (struct cobindex_place){ 0, 0, 0 };
        return top_group(top, 0, &place->group);
}

int cobindex_find(const struct cobindex *index, struct bpnode_key key, struct cobindex_place *place, bool *is_used)
{
        struct top top;
        struct extent extent;
        int err = top_open(index, &top);
        if (!err)
                err = top_find(&top, key, &place->extent);
        if (!err)
                err = top_extent(&top, place->extent, &extent);
        if (!err)
                err = extent_find(&extent, key, &place->i);
        if (err)
                return err;
        place->group = extent.group;
        *is_used = true;
        const struct pma_map *used = extent_used(&extent);
        if (pma_is_used(used, place->i))
                return 0;
        unsigned before = pma_previous(used, place->i);
        place->i = before < PMA_PLACES ? before : pma_next(used, place->i);
        return place->i < PMA_PLACES ? 0 : find_beside(&top, place, is_used);
}

/* ---- from one to the next ---- */

int cobindex_first(const struct cobindex *index, struct cobindex_place *place)
{
        struct top top;
        int err = top_open(index, &top);
        return err ? err : first_from(&top, 0, place);
}

int cobindex_last(const struct cobindex *index, struct cobindex_place *place)
{
        struct top top;
        int err = top_open(index, &top);
        return err ? err : last_before(&top, top.extents, place);
}

int cobindex_next(const struct cobindex *index, struct cobindex_place *place)
{
        struct extent extent;
        struct top top;
        int err = extent_open(index, place->group, &extent);
        if (err)
                return err;
        unsigned i = pma_next(extent_used(&extent), place->i + 1);
        if (i < PMA_PLACES) {
                place->i = i;
                return 0;
        }
        err = top_open(index, &top);
        return err ? err : first_from(&top, place->extent + 1, place);
}

int cobindex_previous(const struct cobindex *index, struct cobindex_place *place)
{
        struct extent extent;
        struct top top;
        int err = extent_open(index, place->group, &extent);
        if (err)
                return err;
        unsigned i = place->i ? pma_previous(extent_used(&extent), place->i - 1) : PMA_PLACES;
        if (i < PMA_PLACES) {
                place->i = i;
                return 0;
        }
        err = top_open(index, &top);
        if (err)
                return err;
        return last_before(&top, place->extent < top.extents ? place->extent : top.extents, place);
}

/* ---- extents ---- */

int cobindex_extents(const struct cobindex *index, uint32_t *extents)
{
        struct top top;
        int err = top_open(index, &top);
        if (!err)
                *extents = top.extents;
        return err;
}

int cobindex_extent(const struct cobindex *index, uint32_t number, uint32_t *group, struct pma_map *map)
{
        struct top top;
        struct extent extent;
        int err = top_open(index, &top);
        if (!err && number >= top.extents)
                return -ENOENT;
        if (!err)
                err = top_extent(&top, number, &extent);
        if (err)
                return err;
        *group = extent.group;
        *map = *extent_used(&extent);
        return 0;
}
