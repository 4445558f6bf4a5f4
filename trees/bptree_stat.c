/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include "trees/overflow.h"

struct census {
        struct bptree *tree;
        xac_tree_stats stats;
        int result;
};

static int count_node(void *arg, page_no page, const struct bpnode *node)
{
        struct census *census = arg;
        const struct bpnode_shape *shape = &census->tree->shape;
        if (page == census->tree->root)
                census->stats.depth = node->level + 1u;
        if (node->level) {
                census->stats.inner_pages++;
                return 0;
        }
        census->stats.leaf_pages++;
        census->stats.records += node->count;
        census->stats.leaf_bytes_used += bpnode_used(shape, node);
        for (unsigned i = 0; !shape->is_fixed && i < node->count; i++) {
                struct bpnode_record record = bpnode_record_at(shape, node, i);
                if (record.is_overflow)
                        census->stats.overflow_pages +=
                                overflow_pages(census->tree->arena, overflow_of(record.value).byte_len);
        }
        return 0;
}

static int stat_body(void *arg)
{
        struct census *census = arg;
        census->stats = (xac_tree_stats){ 0 };
        return tree_settle(&census->result, bptree_walk(census->tree, count_node, census));
}

int bptree_stat(struct xac_tree *handle, xac_tree_stats *stats)
{
        struct bptree *tree = handle->tree;
        struct census census = { .tree = tree };
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->arena, XAC_RDONLY, stat_body, &census);
        if (!err)
                err = census.result;
        if (!err)
                *stats = census.stats;
        return err;
}
