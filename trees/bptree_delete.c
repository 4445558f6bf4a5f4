/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include <string.h>

#include "trees/overflow.h"

/*
 * A node that is less than a quarter full is merged with a neighbour under the same parent when both fit into one page:
 *
 *      before   | .. 3 7 .. |              after   | .. 3 .. |
 *                   | |                                |
 *              | 3 4 | | 7 |                      | 3 4 7 |
 *
 * An empty one always goes (T5). A neighbour that is no proper node is left alone: whoever needs it will say so.
 */

struct removal {
        struct bptree *tree;
        struct bpnode_key key;
        int result;
};

static bool is_low(const struct bptree *tree, const struct bpnode *node)
{
        return bpnode_used(&tree->shape, node) < bpnode_capacity(&tree->shape) / 4;
}

int bptree_free_node(const struct bptree *tree, page_no page)
{
        struct bpnode *node = arena_write(tree->arena, page);
        if (!node)
                return ARENA_LOST;
        node->kind = PAGE_FRESH;
        return page_alloc_free(tree->arena, page);
}

/* The child that the parent's step names is empty. */
static int drop_child(const struct bptree *tree, const struct leaf_place *parent, page_no page)
{
        struct bpnode *node = arena_write(tree->arena, parent->page);
        if (!node)
                return ARENA_LOST;
        bpnode_remove(&tree->shape, node, parent->i);
        return bptree_free_node(tree, page);
}

static bool fits_together(const struct bptree *tree, const struct bpnode *left, const struct bpnode *right,
                          struct bpnode_key separator)
{
        size_t bytes = bpnode_used(&tree->shape, right);
        if (right->level && !tree->shape.is_fixed)
                bytes += separator.len; /* becomes the key of the right one's first */
        return bytes <= bpnode_room(&tree->shape, left);
}

static int read_child(const struct bptree *tree, const struct bpnode *parent, unsigned i, page_no *page,
                      const struct bpnode **child)
{
        int err = bptree_child(tree, parent, i, page);
        return err ? err : bptree_node(tree, *page, parent->level - 1u, child);
}

/* Merges the children at i and i + 1 if they fit into one page. */
static int merge_children(const struct bptree *tree, const struct leaf_place *parent, unsigned i, bool *is_done)
{
        const struct bpnode_shape *shape = &tree->shape;
        const struct bpnode *above = parent->node;
        const struct bpnode *left, *right;
        page_no left_page, right_page;
        int err = read_child(tree, above, i, &left_page, &left);
        if (!err)
                err = read_child(tree, above, i + 1, &right_page, &right);
        if (err)
                return err == ARENA_LOST ? err : 0;
        if (left == right || !fits_together(tree, left, right, bpnode_key_at(shape, above, i + 1)))
                return 0;
        struct bpnode *node = arena_write(tree->arena, parent->page);
        struct bpnode *merged = arena_write(tree->arena, left_page);
        if (!node || !merged)
                return ARENA_LOST;
        bpnode_merge(shape, merged, right, bpnode_key_at(shape, node, i + 1));
        bpnode_remove(shape, node, i + 1);
        *is_done = true;
        return bptree_free_node(tree, right_page);
}

/* The node of a step is low. *is_done: a page less. */
static int tidy_step(const struct bptree *tree, struct bptree_path *path, unsigned step, bool *is_done)
{
        const struct leaf_place *parent = &path->steps[step - 1];
        unsigned count = parent->node->count;
        int err = 0;
        *is_done = false;
        if (!path->steps[step].node->count) {
                *is_done = true;
                return drop_child(tree, parent, path->steps[step].page);
        }
        if (parent->i)
                err = merge_children(tree, parent, parent->i - 1, is_done);
        if (!err && !*is_done && parent->i + 1 < count)
                err = merge_children(tree, parent, parent->i, is_done);
        return err;
}

/* A root without children is an empty leaf; one with a single child takes over what is in it (T1). */
static int shrink_root(const struct bptree *tree)
{
        for (;;) {
                const struct bpnode *root = arena_read(tree->arena, tree->root);
                const struct bpnode *child;
                page_no page = PAGE_NONE;
                if (!root)
                        return ARENA_LOST;
                if (!root->level || root->count > 1)
                        return 0;
                int err = root->count ? read_child(tree, root, 0, &page, &child) : 0;
                if (err)
                        return err == ARENA_LOST ? err : 0;
                struct bpnode *node = arena_write(tree->arena, tree->root);
                if (!node)
                        return ARENA_LOST;
                if (!page) {
                        bpnode_init(&tree->shape, node, 0);
                        return 0;
                }
                memcpy(node, child, tree->shape.page_bytes);
                err = bptree_free_node(tree, page);
                if (err)
                        return err;
        }
}

/* A leaf other than the root has become low: upwards, as long as that makes the parent low. */
static int tidy(const struct bptree *tree, struct bptree_path *path)
{
        bool is_done = true;
        for (unsigned step = path->depth; step && is_done; step--) {
                struct leaf_place *at = &path->steps[step];
                at->node = arena_read(tree->arena, at->page);
                if (!at->node)
                        return ARENA_LOST;
                if (!is_low(tree, at->node))
                        break;
                int err = tidy_step(tree, path, step, &is_done);
                if (err)
                        return err;
        }
        return shrink_root(tree);
}

/* The change itself, when everything is ready for it (T3). */
static int remove_at(const struct bptree *tree, struct bptree_path *path, struct bpnode_overflow chain)
{
        const struct leaf_place *at = bptree_path_leaf(path);
        struct bpnode *leaf = arena_write(tree->arena, at->page);
        if (!leaf)
                return ARENA_LOST;
        bpnode_remove(&tree->shape, leaf, at->i);
        int err = chain.byte_len ? overflow_free(tree->arena, tree->shape.tree_id, chain) : 0;
        if (err || !path->depth || !is_low(tree, leaf))
                return err;
        return tidy(tree, path);
}

/* What the change needs to know; -ENOENT. */
static int look(const struct bptree *tree, struct bpnode_key key, struct bptree_path *path,
                struct bpnode_overflow *chain)
{
        bool is_equal;
        int err = bptree_path_seek(tree, key, path, &is_equal);
        *chain = (struct bpnode_overflow){ 0 };
        if (err)
                return err;
        if (!is_equal)
                return -ENOENT;
        const struct leaf_place *at = bptree_path_leaf(path);
        struct bpnode_record record = bpnode_record_at(&tree->shape, at->node, at->i);
        if (!record.is_overflow)
                return 0;
        *chain = overflow_of(record.value);
        return overflow_probe(tree->arena, tree->shape.tree_id, *chain);
}

static int remove_body(void *arg)
{
        struct removal *removal = arg;
        struct bptree_path path;
        struct bpnode_overflow chain;
        removal->result = 0;
        int err = look(removal->tree, removal->key, &path, &chain);
        if (err)
                return tree_settle(&removal->result, err);
        err = tree_cursors_before_change(&removal->tree->handle);
        return err ? err : remove_at(removal->tree, &path, chain);
}

int bptree_remove_key(struct bptree *tree, struct bpnode_key key)
{
        struct removal removal = { tree, key, 0 };
        int err = remove_body(&removal);
        return err ? err : removal.result;
}

int bptree_delete(struct xac_tree *handle, const void *key, size_t key_len)
{
        struct bptree *tree = handle->tree;
        struct removal removal = { tree, { key, key_len }, 0 };
        if (!leaf_takes_key(&tree->shape, key_len))
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->arena, 0, remove_body, &removal);
        return err ? err : removal.result;
}
