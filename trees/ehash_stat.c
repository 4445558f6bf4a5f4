/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

#include "trees/overflow.h"

struct census {
        const struct ehash *table;
        xac_tree_stats stats;
        int result;
};

static int count_node(void *arg, page_no page, const struct ehash_node *node)
{
        struct census *census = arg;
        (void)page;
        (void)node;
        census->stats.inner_pages++;
        return 0;
}

static int count_bucket(void *arg, page_no page, const struct bpnode *leaf, unsigned depth)
{
        struct census *census = arg;
        const struct bpnode_shape *shape = &census->table->shape;
        xac_tree_stats *stats = &census->stats;
        (void)page;
        stats->leaf_pages++;
        stats->records += leaf->count;
        stats->leaf_bytes_used += bpnode_used(shape, leaf);
        if (depth > stats->depth)
                stats->depth = depth;
        for (unsigned i = 0; !shape->is_fixed && i < leaf->count; i++) {
                struct bpnode_record record = bpnode_record_at(shape, leaf, i);
                if (record.is_overflow)
                        stats->overflow_pages +=
                                overflow_pages(census->table->arena, overflow_of(record.value).byte_len);
        }
        return 0;
}

static int stat_body(void *arg)
{
        struct census *census = arg;
        const struct ehash_visitor visitor = { count_node, count_bucket, census };
        census->stats = (xac_tree_stats){ 0 };
        return tree_settle(&census->result, ehash_walk(census->table, &visitor));
}

static void stat_shortcut(const struct ehash_shortcut *shortcut, xac_tree_stats *stats)
{
        struct ehash_shortcut_stats its_stats;
        ehash_shortcut_stat(shortcut, &its_stats);
        stats->shortcut_mappings = its_stats.mappings;
        stats->shortcut_is_used = ehash_shortcut_base(shortcut) != NULL;
}

int ehash_stat(struct xac_tree *handle, xac_tree_stats *stats)
{
        struct ehash *table = handle->tree;
        struct census census = { .table = table };
        int err = ehash_enter(table);
        if (!err)
                err = arena_run(table->arena, XAC_RDONLY, stat_body, &census);
        if (!err)
                err = census.result;
        if (!err)
                *stats = census.stats;
        if (!err && table->shortcut)
                stat_shortcut(table->shortcut, stats);
        return err;
}
