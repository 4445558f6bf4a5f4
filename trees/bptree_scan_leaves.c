/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

/*
 * Leaves where they lie. Who sends them, or compares their numbers with those of another version, looks at no record of
 * most: so nothing is read of a leaf between the ends of the range but its header. Where it ends is known by the
 * separator behind it (T2).
 */

struct leaves {
        struct bptree *tree;
        const struct bpnode_key *from; /* NULL: the first */
        const struct bpnode_key *to;   /* NULL: to the last */
        int (*visit)(void *arg, const xac_tree_leaf_view *view);
        void *arg;
        int result;
};

/* What is less than that belongs before the next leaf. False: there is no next leaf. */
static bool find_separator(const struct bptree *tree, const struct bptree_path *path, struct bpnode_key *separator)
{
        for (unsigned step = path->depth; step-- > 0;) {
                const struct leaf_place *at = &path->steps[step];
                if (at->i + 1 < at->node->count) {
                        *separator = bpnode_key_at(&tree->shape, at->node, at->i + 1);
                        return true;
                }
        }
        return false;
}

/* The header of the next leaf below the same parent is on its way from memory while this one is visited. */
static int fetch_next(const struct bptree *tree, const struct bptree_path *path)
{
        const struct leaf_place *above = &path->steps[path->depth - 1];
        page_no page;
        if (above->i + 1 >= above->node->count)
                return 0;
        int err = bptree_child(tree, above->node, above->i + 1, &page);
        if (err)
                return err;
        const void *next = arena_read(tree->arena, page);
        __builtin_prefetch(next);
        return next ? 0 : ARENA_LOST;
}

static xac_tree_leaf_view view_of(const struct bptree *tree, const struct leaf_place *at)
{
        const struct bpnode_shape *shape = &tree->shape;
        const xac_tree_options options = { .key_bytes = shape->is_fixed ? BPNODE_FIXED_KEY : 0,
                                           .value_bytes = shape->value_bytes,
                                           .compare = shape->compare,
                                           .compare_arg = shape->compare_arg };
        const xac_tree_leaf leaf = { .page = at->node,
                                     .page_bytes = shape->page_bytes,
                                     .count = at->node->count,
                                     .tree_id = shape->tree_id,
                                     .options = options };
        return (xac_tree_leaf_view){ .leaf = leaf, .page_no = at->page, .first = at->i, .end = at->node->count };
}

/* Visits the leaf at the end of the path. *is_last: no later one is of the range. */
static int visit_leaf(struct leaves *leaves, struct bptree_path *path, bool *is_last)
{
        const struct bptree *tree = leaves->tree;
        const struct leaf_place *at = bptree_path_leaf(path);
        xac_tree_leaf_view view = view_of(tree, at);
        struct bpnode_key separator;
        int err = 0;
        if (!find_separator(tree, path, &separator))
                *is_last = true;
        else
                *is_last = leaves->to && bpnode_compare(&tree->shape, separator, *leaves->to) >= 0;
        if (*is_last)
                leaf_find_end(&tree->shape, at->node, leaves->to, &view.end);
        else
                err = fetch_next(tree, path);
        if (!err)
                leaves->result = leaves->visit(leaves->arg, &view);
        return err;
}

static int visit_all(struct leaves *leaves)
{
        const struct bptree *tree = leaves->tree;
        struct bptree_path path;
        bool is_equal, is_last = false;
        leaves->result = 0;
        if (leaves->from && leaves->to && bpnode_compare(&tree->shape, *leaves->from, *leaves->to) >= 0)
                return 0;
        int err = 0;
        if (leaves->from)
                err = bptree_path_seek(tree, *leaves->from, &path, &is_equal);
        else
                err = bptree_path_first(tree, &path);
        while (!err && !leaves->result && !is_last) {
                err = visit_leaf(leaves, &path, &is_last);
                if (!err && !leaves->result && !is_last)
                        err = bptree_path_next_leaf(tree, &path);
        }
        return err;
}

static int visit_body(void *arg)
{
        struct leaves *leaves = arg;
        int err = visit_all(leaves);
        return err ? tree_settle(&leaves->result, err) : 0;
}

int bptree_scan_leaves(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                       int (*visit)(void *arg, const xac_tree_leaf_view *view), void *arg)
{
        struct bptree *tree = handle->tree;
        const struct bpnode_key low = { from, from_len }, high = { to, to_len };
        struct leaves leaves = { tree, from ? &low : NULL, to ? &high : NULL, visit, arg, 0 };
        if ((from && !leaf_takes_key(&tree->shape, from_len)) || (to && !leaf_takes_key(&tree->shape, to_len)))
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->arena, XAC_RDONLY, visit_body, &leaves);
        return err ? err : leaves.result;
}
