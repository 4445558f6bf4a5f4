/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

/* Cursors of B+-trees: tree_cursor.h with paths from the root. */

static int ways_seek(const void *tree, struct bpnode_key key, void *path, struct leaf_place **at, bool *is_equal)
{
        int err = bptree_path_seek(tree, key, path, is_equal);
        *at = bptree_path_leaf(path);
        return err;
}

static int ways_first(const void *tree, void *path, struct leaf_place **at)
{
        int err = bptree_path_first(tree, path);
        *at = bptree_path_leaf(path);
        return err ? err : (*at)->node->count ? 0 : -ENOENT;
}

static int ways_last(const void *tree, void *path, struct leaf_place **at)
{
        int err = bptree_path_last(tree, path);
        *at = bptree_path_leaf(path);
        return err ? err : (*at)->node->count ? 0 : -ENOENT;
}

static int ways_next(const void *tree, void *path, struct leaf_place **at)
{
        *at = bptree_path_leaf(path);
        return bptree_path_next_leaf(tree, path);
}

static int ways_previous(const void *tree, void *path, struct leaf_place **at)
{
        *at = bptree_path_leaf(path);
        return bptree_path_previous_leaf(tree, path);
}

static void ways_copy(void *to_, const void *from_, struct leaf_place **at)
{
        struct bptree_path *to = to_;
        const struct bptree_path *from = from_;
        to->depth = from->depth;
        to->run = from->run;
        to->expected = from->expected;
        memcpy(to->steps, from->steps, (from->depth + 1) * sizeof(from->steps[0]));
        *at = bptree_path_leaf(to);
}

static int ways_remove(void *tree, struct bpnode_key key)
{
        return bptree_remove_key(tree, key);
}

const struct leaf_ways bptree_ways = { .path_bytes = sizeof(struct bptree_path),
                                       .seek = ways_seek,
                                       .first = ways_first,
                                       .last = ways_last,
                                       .next = ways_next,
                                       .previous = ways_previous,
                                       .copy = ways_copy,
                                       .remove = ways_remove };
