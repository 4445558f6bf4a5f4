/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

#include "trees/overflow.h"

/*
 * A segment that is less than a quarter full is merged with the one before or behind it in its extent, when the two
 * then fill three quarters of one at most, so that the next puts do not split it again:
 *
 *      before   | 3 4 |     | 7 |                  after   | 3 4 7 |     |     |
 *
 * A neighbour that is no proper segment is left alone: whoever needs it will say so.
 */

struct removal {
        struct cobtree *tree;
        struct bpnode_key key;
        int result;
};

static bool is_low(const struct cobtree *tree, const struct bpnode *leaf)
{
        return bpnode_used(&tree->index.shape, leaf) < bpnode_capacity(&tree->index.shape) / 4;
}

static bool fit_together(const struct cobtree *tree, const struct bpnode *left, const struct bpnode *right)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        return bpnode_used(shape, left) + bpnode_used(shape, right) <= bpnode_capacity(shape) / 4 * 3;
}

static int free_segment(struct cobtree *tree, struct cobindex_place place)
{
        tree->thin_extent = place.extent;
        return cobindex_free(&tree->index, place);
}

/* Merges two neighbours if they fit into one segment. */
static int merge(struct cobtree *tree, struct cobindex_place left, struct cobindex_place right, bool *is_done)
{
        const struct bpnode *from, *to;
        struct bpnode *merged;
        int err = cobtree_read(tree, cobtree_page(tree, left), &to);
        if (!err)
                err = cobtree_read(tree, cobtree_page(tree, right), &from);
        if (err)
                return err == ARENA_LOST ? err : 0;
        if (!fit_together(tree, to, from))
                return 0;
        err = cobtree_write(tree, cobtree_page(tree, left), &merged);
        if (err)
                return err;
        bpnode_merge(&tree->index.shape, merged, from, (struct bpnode_key){ NULL, 0 });
        *is_done = true;
        return free_segment(tree, right);
}

/* A segment has become low. */
static int tidy_segment(struct cobtree *tree, struct cobindex_place place)
{
        struct pma_map map;
        uint32_t group;
        bool is_done = false;
        int err = cobindex_extent(&tree->index, place.extent, &group, &map);
        if (err)
                return err == ARENA_LOST ? err : 0;
        unsigned before = place.i ? pma_previous(&map, place.i - 1) : PMA_PLACES;
        unsigned behind = place.i + 1 < PMA_PLACES ? pma_next(&map, place.i + 1) : PMA_PLACES;
        if (before < place.i)
                err = merge(tree, (struct cobindex_place){ place.extent, place.group, before }, place, &is_done);
        if (!err && !is_done && behind < tree->index.segments)
                err = merge(tree, place, (struct cobindex_place){ place.extent, place.group, behind }, &is_done);
        return err;
}

/* The change itself, when everything is ready for it (T3). */
static int remove_at(struct cobtree *tree, struct cobindex_place place, unsigned i, struct bpnode_overflow chain)
{
        struct bpnode *leaf;
        int err = cobtree_write(tree, cobtree_page(tree, place), &leaf);
        if (err)
                return err;
        bpnode_remove(&tree->index.shape, leaf, i);
        err = chain.byte_len ? overflow_free(tree->index.arena, tree->index.shape.tree_id, chain) : 0;
        if (err || !is_low(tree, leaf))
                return err;
        return leaf->count ? tidy_segment(tree, place) : free_segment(tree, place);
}

/* What the change needs to know; -ENOENT. */
static int look(const struct cobtree *tree, struct bpnode_key key, struct cobindex_place *place, unsigned *i,
                struct bpnode_overflow *chain)
{
        const struct bpnode *leaf;
        bool is_used, is_equal;
        int err = cobindex_find(&tree->index, key, place, &is_used);
        if (!err && !is_used)
                err = -ENOENT;
        if (!err)
                err = cobtree_read(tree, cobtree_page(tree, *place), &leaf);
        if (err)
                return err;
        *i = bpnode_find(&tree->index.shape, leaf, key, &is_equal);
        return is_equal ? leaf_chain(tree->index.arena, &tree->index.shape, leaf, *i, chain) : -ENOENT;
}

static int remove_body(void *arg)
{
        struct removal *removal = arg;
        struct cobindex_place place;
        struct bpnode_overflow chain;
        unsigned i;
        removal->result = 0;
        removal->tree->thin_extent = COBTREE_NO_EXTENT;
        int err = look(removal->tree, removal->key, &place, &i, &chain);
        if (err)
                return tree_settle(&removal->result, err);
        err = tree_cursors_before_change(&removal->tree->handle);
        return err ? err : remove_at(removal->tree, place, i, chain);
}

int cobtree_remove_key(struct cobtree *tree, struct bpnode_key key)
{
        struct removal removal = { tree, key, 0 };
        int err = remove_body(&removal);
        return err ? err : removal.result;
}

/* ---- giving extents back ---- */

struct shrinking {
        const struct cobtree *tree;
        int result;
};

static int shrink_body(void *arg)
{
        struct shrinking *shrinking = arg;
        return tree_settle(&shrinking->result, cobindex_shrink(&shrinking->tree->index, shrinking->tree->thin_extent));
}

/* The record is gone already: what else goes wrong here will be seen by those whom it concerns. */
int cobtree_tidy(struct cobtree *tree)
{
        struct shrinking shrinking = { tree, tree->thin_extent == COBTREE_NO_EXTENT ? 0 : -EAGAIN };
        int err = 0;
        while (!err && shrinking.result == -EAGAIN)
                err = arena_run(tree->index.arena, XAC_NOSYNC, shrink_body, &shrinking);
        tree->thin_extent = COBTREE_NO_EXTENT;
        return err == -ECANCELED ? err : 0;
}

int cobtree_delete(struct xac_tree *handle, const void *key, size_t key_len)
{
        struct cobtree *tree = handle->tree;
        struct removal removal = { tree, { key, key_len }, 0 };
        if (!leaf_takes_key(&tree->index.shape, key_len))
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->index.arena, 0, remove_body, &removal);
        if (err || removal.result)
                return err ? err : removal.result;
        return cobtree_tidy(tree);
}
