/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

/* Cursors of cache-oblivious B-trees: tree_cursor.h with the places of segments. */

/* Where a record is. */
struct cobtree_path {
        struct cobindex_place segment;
        struct leaf_place at;
};

static int enter_segment(const struct cobtree *tree, struct cobtree_path *path, struct leaf_place **at)
{
        path->at = (struct leaf_place){ .page = cobtree_page(tree, path->segment) };
        *at = &path->at;
        return cobtree_read(tree, path->at.page, &path->at.node);
}

static int ways_first(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_first(&tree->index, &path->segment);
        return err ? err : enter_segment(tree, path, at);
}

static int to_last_record(const struct cobtree *tree, struct cobtree_path *path, struct leaf_place **at)
{
        int err = enter_segment(tree, path, at);
        if (!err)
                path->at.i = path->at.node->count - 1u;
        return err;
}

static int ways_last(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_last(&tree->index, &path->segment);
        return err ? err : to_last_record(tree, path, at);
}

static int ways_seek(const void *tree_, struct bpnode_key key, void *path_, struct leaf_place **at, bool *is_equal)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        bool is_used;
        int err = cobindex_find(&tree->index, key, &path->segment, &is_used);
        if (err || !is_used)
                return err ? err : -ENOENT;
        err = enter_segment(tree, path, at);
        if (!err)
                path->at.i = bpnode_find(&tree->index.shape, path->at.node, key, is_equal);
        return err;
}

static int ways_next(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_next(&tree->index, &path->segment);
        return err ? err : enter_segment(tree, path, at);
}

static int ways_previous(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_previous(&tree->index, &path->segment);
        return err ? err : to_last_record(tree, path, at);
}

static void ways_copy(void *to_, const void *from, struct leaf_place **at)
{
        struct cobtree_path *to = to_;
        memcpy(to, from, sizeof(*to));
        *at = &to->at;
}

static int ways_remove(void *tree, struct bpnode_key key)
{
        return cobtree_remove_key(tree, key);
}

const struct leaf_ways cobtree_ways = { .path_bytes = sizeof(struct cobtree_path),
                                        .seek = ways_seek,
                                        .first = ways_first,
                                        .last = ways_last,
                                        .next = ways_next,
                                        .previous = ways_previous,
                                        .copy = ways_copy,
                                        .remove = ways_remove };
