/* SPDX-License-Identifier: MIT */
#include "trees/cobindex.h"

#include "trees/cobindex_extent.h"
#include "trees/cobindex_top.h"

int cobindex_create(const struct cobindex *index)
{
        uint32_t group;
        int err = page_group_take(index->arena, &group);
        if (!err)
                err = extent_make(index, group);
        return err ? err : top_make(index, group);
}

int cobindex_drop(const struct cobindex *index)
{
        struct top top;
        int err = top_open(index, &top);
        for (uint32_t i = 0; !err && i < top.extents; i++) {
                struct extent extent;
                err = top_extent(&top, i, &extent);
                if (!err)
                        err = extent_drop(&extent);
        }
        return err ? err : top_drop(&top);
}

int cobindex_append_extent(const struct cobindex *index, struct bpnode_key key)
{
        struct top top;
        struct separator separator;
        int err = top_open(index, &top);
        separator_make(index, key, &separator);
        if (!err)
                err = top_insert(&top, top.extents, &separator);
        return err ? err : top_separate(&top, top.extents - 1, &separator); /* empty ones may be before it */
}
