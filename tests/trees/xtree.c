/* SPDX-License-Identifier: MIT */
#include "tests/trees/xtree.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <xac/tree.h>

#include "tests/trees/xtree_hash.h"

const char *const xtree_names[XTREE_KINDS] = {
        [XTREE_BPTREE] = "bptree", [XTREE_COBTREE] = "cobtree", [XTREE_EHASH] = "ehash"
};

static _Atomic enum xtree_kind chosen = XTREE_BPTREE;

void xtree_choose(enum xtree_kind kind)
{
        atomic_store_explicit(&chosen, kind, memory_order_relaxed);
}

bool xtree_is_cob(void)
{
        return atomic_load_explicit(&chosen, memory_order_relaxed) == XTREE_COBTREE;
}

bool xtree_is_hash(void)
{
        return atomic_load_explicit(&chosen, memory_order_relaxed) == XTREE_EHASH;
}

const char *xtree_name(void)
{
        return xtree_names[atomic_load_explicit(&chosen, memory_order_relaxed)];
}

bool xtree_choose_named(const char *name)
{
        for (int kind = 0; kind < XTREE_KINDS; kind++) {
                if (strcmp(name, xtree_names[kind]) != 0)
                        continue;
                xtree_choose((enum xtree_kind)kind);
                return true;
        }
        return false;
}

int xtree_open(xac_arena *arena, const char *name, int flags, const xac_tree_options *options, xac_tree **tree)
{
        static const uint32_t kinds[XTREE_KINDS] = {
                [XTREE_BPTREE] = XAC_TREE_BPLUS, [XTREE_COBTREE] = XAC_TREE_COBTREE, [XTREE_EHASH] = XAC_TREE_HASH
        };
        xac_tree_options asked = options ? *options : (xac_tree_options){ 0 };

        asked.kind = kinds[atomic_load_explicit(&chosen, memory_order_relaxed)];
        if (options || flags & XAC_TREE_CREATE)
                return xac_tree_open(arena, name, flags, &asked, tree);
        int err = xac_tree_open(arena, name, flags, NULL, tree);
        if (err || xac_tree_kind_of(*tree) == asked.kind)
                return err;
        xac_tree_close(*tree);
        *tree = NULL;
        return -EINVAL;
}

int xtree_scan(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
               int (*visit)(void *arg, const xac_tree_record *record), void *arg)
{
        if (xtree_is_hash())
                return xtree_hash_scan(tree, from, from_len, to, to_len, visit, arg);
        return xac_tree_scan(tree, from, from_len, to, to_len, visit, arg);
}

int xtree_stat(xac_tree *tree, xtree_stats *stats)
{
        xac_tree_stats its = { 0 };
        int err = xac_tree_stat(tree, &its);

        *stats = (xtree_stats){ .records = its.records,
                                .record_pages = its.leaf_pages,
                                .bytes_used = its.leaf_bytes_used,
                                .index_pages = its.inner_pages,
                                .overflow_pages = its.overflow_pages,
                                .height = xtree_is_cob() ? its.extents : its.depth };
        return err;
}
