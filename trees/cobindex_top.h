/* SPDX-License-Identifier: MIT */
#ifndef TREES_COBINDEX_TOP_H
#define TREES_COBINDEX_TOP_H

/*
 * The root page, and the top: a tree over the extents, and where they are.
 */

#include "trees/cobindex.h"
#include <errno.h>

#include "trees/cobindex_extent.h"

/*
 * The array, and the pages that it lies in:
 *
 *      | root page: header | part 0 |   | top page: header | part 1 |   | header | part 2 |
 *
 * Parts are multiples of the largest node, so that nothing crosses their ends.
 */
enum {
        TOP_ROOT_BEGIN = (sizeof(struct cobindex_root) + SEPARATOR_BYTES - 1) / SEPARATOR_BYTES * SEPARATOR_BYTES,
        TOP_PAGE_BEGIN = SEPARATOR_BYTES
};

static inline unsigned top_height(uint32_t extents)
{
        return extents > 1 ? 32 - (unsigned)__builtin_clz(extents - 1) : 0;
}

static inline size_t top_part_bytes(const struct cobindex *index, unsigned part)
{
        return index->shape.page_bytes - (part ? TOP_PAGE_BEGIN : TOP_ROOT_BEGIN);
}

static inline size_t top_node_offset(const struct cobindex *index, unsigned height, uint32_t node)
{
        uint32_t place = height <= VEB_TABLE_HEIGHT ? veb_table[(1U << height) + node] : veb_place(height, node);
        return (size_t)place * index->node_bytes;
}

static inline size_t top_group_offset(const struct cobindex *index, unsigned height, uint32_t extent)
{
        return ((size_t)1 << height) * index->node_bytes - index->node_bytes + (size_t)extent * sizeof(uint32_t);
}

/* How many top pages so many extents need. */
static inline uint32_t top_pages_needed(const struct cobindex *index, uint32_t extents)
{
        const size_t bytes = top_group_offset(index, top_height(extents), extents);
        const size_t in_root = top_part_bytes(index, 0), in_page = top_part_bytes(index, 1);
        return bytes <= in_root ? 0 : (uint32_t)((bytes - in_root + in_page - 1) / in_page);
}

/* The top as the transaction sees it. */
struct top {
        const struct cobindex *index;
        const struct cobindex_root *root;
        uint32_t extents;
        unsigned height; /* of the tree over them */
};

/* ARENA_LOST, -ESTALE, XAC_CORRUPT. */
static inline int top_open(const struct cobindex *index, struct top *top)
{
        const struct cobindex_root *root = arena_read(index->arena, index->root);
        if (!root)
                return ARENA_LOST;
        if (root->kind != PAGE_IS_COBTREE || root->tree_id != index->shape.tree_id)
                return -ESTALE;
        if (!root->extents || root->extents > COBINDEX_EXTENTS_MAX || root->top_pages > COBINDEX_TOP_PAGES_MAX)
                return XAC_CORRUPT;
        *top = (struct top){ index, root, root->extents, top_height(root->extents) };
        return 0;
}

/* A byte of the array, in whichever page. ARENA_LOST, -ENOMEM, XAC_CORRUPT. */
int top_read_page(const struct top *top, size_t offset, const unsigned char **bytes);
static inline int top_read(const struct top *top, size_t offset, const unsigned char **bytes)
{
        *bytes = (const unsigned char *)top->root + TOP_ROOT_BEGIN + offset;
        return offset < top_part_bytes(top->index, 0) ? 0 : top_read_page(top, offset, bytes);
}

/* Behind which separator a key is. */
int top_find(const struct top *top, struct bpnode_key key, uint32_t *extent);
/* The group of an extent, as it stands there. */
static inline int top_group(const struct top *top, uint32_t extent, uint32_t *group)
{
        const unsigned char *bytes;
        int err = top_read(top, top_group_offset(top->index, top->height, extent), &bytes);
        if (!err)
                memcpy(group, bytes, sizeof(*group));
        return err;
}

static inline int top_extent(const struct top *top, uint32_t number, struct extent *extent)
{
        uint32_t group;
        int err = top_group(top, number, &group);
        return err ? err : extent_open(top->index, group, extent);
}

/* The separator before an extent that is not the first. */
int top_separator(const struct top *top, uint32_t extent, struct separator *separator);

/* Another separator before an extent that is not the first, and is not empty or becomes so: the empty ones before it
 * have it, too. */
int top_separate(struct top *top, uint32_t extent, const struct separator *separator);
/* One more extent, new and empty, behind all others or before that number; separator: what stands before it. Before
 * the first of all nothing stands: then the least, which comes before the one that was the first (C2).
 * -ENOSPC, -ENOMEM: nothing has happened. */
int top_insert(struct top *top, uint32_t extent, const struct separator *separator);
/* Its group is the caller's then. */
int top_remove(struct top *top, uint32_t extent);

/* A top for one extent, in a root page that is nobody's yet. ARENA_LOST. */
int top_make(const struct cobindex *index, uint32_t group);
/* Frees the root page, which is written to, and the top pages. ARENA_LOST, XAC_CORRUPT. */
int top_drop(const struct top *top);

/* Whether there are as many top pages as there have to be. */
static inline bool top_is_sound(const struct top *top)
{
        return top->root->top_pages == top_pages_needed(top->index, top->extents);
}

#endif
