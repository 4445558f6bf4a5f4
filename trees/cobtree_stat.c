/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

#include "trees/overflow.h"

static int walk_extent(const struct cobtree *tree, struct cobindex_place place, const struct pma_map *map,
                       int (*visit)(void *arg, page_no page, const struct bpnode *leaf), void *arg)
{
        int err = 0;
        for (place.i = 0; !err && place.i < tree->index.segments; place.i++) {
                const struct bpnode *leaf;
                if (!pma_is_used(map, place.i))
                        continue;
                err = cobtree_read(tree, cobtree_page(tree, place), &leaf);
                if (!err)
                        err = visit(arg, cobtree_page(tree, place), leaf);
        }
        return err;
}

int cobtree_walk(const struct cobtree *tree, int (*visit)(void *arg, page_no page, const struct bpnode *leaf),
                 void *arg)
{
        uint32_t extents;
        int err = cobindex_extents(&tree->index, &extents);
        for (uint32_t extent = 0; !err && extent < extents; extent++) {
                struct cobindex_place place = { .extent = extent };
                struct pma_map map;
                err = cobindex_extent(&tree->index, extent, &place.group, &map);
                if (!err)
                        err = walk_extent(tree, place, &map, visit, arg);
        }
        return err;
}

struct census {
        const struct cobtree *tree;
        xac_tree_stats stats;
        int result;
};

static int count_segment(void *arg, page_no page, const struct bpnode *leaf)
{
        struct census *census = arg;
        const struct bpnode_shape *shape = &census->tree->index.shape;
        (void)page;
        census->stats.records += leaf->count;
        census->stats.leaf_pages++;
        census->stats.leaf_bytes_used += bpnode_used(shape, leaf);
        for (unsigned i = 0; !shape->is_fixed && i < leaf->count; i++) {
                struct bpnode_record record = bpnode_record_at(shape, leaf, i);
                if (record.is_overflow)
                        census->stats.overflow_pages +=
                                overflow_pages(census->tree->index.arena, overflow_of(record.value).byte_len);
        }
        return 0;
}

static int count_index_page(void *arg, page_no page)
{
        struct census *census = arg;
        (void)page;
        census->stats.inner_pages++;
        return 0;
}

static int count_all(struct census *census)
{
        const struct cobindex *index = &census->tree->index;
        const char *fault;
        page_no page;
        uint32_t extents;
        census->stats = (xac_tree_stats){ 0 };
        int err = cobindex_extents(index, &extents);
        if (!err)
                err = cobindex_walk(index, count_index_page, census, &fault, &page);
        if (!err)
                err = cobtree_walk(census->tree, count_segment, census);
        if (err)
                return err;
        census->stats.extents = extents;
        census->stats.segments = (uint64_t)extents * index->segments;
        return 0;
}

static int stat_body(void *arg)
{
        struct census *census = arg;
        return tree_settle(&census->result, count_all(census));
}

int cobtree_stat(struct xac_tree *handle, xac_tree_stats *stats)
{
        struct cobtree *tree = handle->tree;
        struct census census = { .tree = tree };
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->index.arena, XAC_RDONLY, stat_body, &census);
        if (!err)
                err = census.result;
        if (!err)
                *stats = census.stats;
        return err;
}
