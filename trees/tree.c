/* SPDX-License-Identifier: MIT */
#include "trees/tree.h"

#include <errno.h>

/* The public calls, but for names (naming_open.c, naming_drop.c), cursors (tree_cursor.c), leaves (bptree_leaf.c) and
 * the check of an arena (arena_check.c). */

enum xac_tree_kind xac_tree_kind_of(const xac_tree *tree)
{
        return tree->kind->number;
}

int xac_tree_put(xac_tree *tree, const void *key, size_t key_len, const void *value, size_t value_len, int flags)
{
        return tree->kind->put(tree, key, key_len, value, value_len, flags);
}

int xac_tree_get(xac_tree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        return tree->kind->get(tree, key, key_len, value, room, value_len);
}

int xac_tree_delete(xac_tree *tree, const void *key, size_t key_len)
{
        return tree->kind->delete (tree, key, key_len);
}

int xac_tree_scan(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                  int (*visit)(void *arg, const xac_tree_record *record), void *arg)
{
        return tree->kind->scan(tree, from, from_len, to, to_len, visit, arg);
}

int xac_tree_scan_runs(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                       int (*visit)(void *arg, const void *records, size_t count), void *arg)
{
        if (!tree->kind->scan_runs)
                return -EOPNOTSUPP;
        return tree->kind->scan_runs(tree, from, from_len, to, to_len, visit, arg);
}

int xac_tree_scan_leaves(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                         int (*visit)(void *arg, const xac_tree_leaf_view *view), void *arg)
{
        if (!tree->kind->scan_leaves)
                return -EOPNOTSUPP;
        return tree->kind->scan_leaves(tree, from, from_len, to, to_len, visit, arg);
}

int xac_tree_load(xac_tree *tree, int (*next)(void *arg, xac_tree_record *record), void *arg)
{
        return tree->kind->load ? tree->kind->load(tree, next, arg) : -EOPNOTSUPP;
}

int xac_tree_arrange(xac_tree *tree)
{
        return tree->kind->arrange ? tree->kind->arrange(tree) : -EOPNOTSUPP;
}

int xac_tree_stat(xac_tree *tree, xac_tree_stats *stats)
{
        int err = tree->kind->stat(tree, stats);
        if (!err)
                stats->kind = tree->kind->number;
        return err;
}
