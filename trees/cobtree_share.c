/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

#include "trees/leaf.h"

enum {
        SHARES_FROM =
                8, /* where a segment has fewer records they are large, and to move some costs more than another one */
        RELIEVES_FROM = 64 /* likewise, where three segments are concerned */
};

/* Two segments side by side in their extent; is_right: the right one is fuller. */
struct pair {
        struct cobindex_place left, right;
        bool is_right;
};

static bool is_there(const struct cobtree *tree, struct cobindex_place place)
{
        return place.i < tree->index.segments;
}

/* The segment and its neighbour on that side. Not is_found: there is none. */
static int pair_with(const struct cobtree *tree, struct cobindex_place place, bool is_before, struct pair *pair,
                     bool *is_found)
{
        struct cobindex_place before, behind;
        int err = cobindex_beside(&tree->index, place, &before, &behind);
        *pair = is_before ? (struct pair){ before, place, true } : (struct pair){ place, behind, false };
        *is_found = !err && is_there(tree, is_before ? before : behind);
        return err;
}

/* A neighbour that is no proper segment is left alone: whoever needs it will say so. */
static int pair_read(const struct cobtree *tree, const struct pair *pair, const struct bpnode **left,
                     const struct bpnode **right, bool *is_proper)
{
        int err = cobtree_read(tree, cobtree_page(tree, pair->left), left);
        if (!err)
                err = cobtree_read(tree, cobtree_page(tree, pair->right), right);
        *is_proper = !err;
        return err == XAC_CORRUPT ? 0 : err;
}

static int pair_write(const struct cobtree *tree, const struct pair *pair, struct bpnode **left, struct bpnode **right)
{
        int err = cobtree_write(tree, cobtree_page(tree, pair->left), left);
        return err ? err : cobtree_write(tree, cobtree_page(tree, pair->right), right);
}

static int separate(const struct cobtree *tree, const struct pair *pair, const struct bpnode_split *split)
{
        return cobindex_separate(&tree->index, pair->right,
                                 (struct bpnode_key){ split->separator, split->separator_len });
}

/* ---- with a neighbour ---- */

/* Whether the two can, and better than those that were found before. */
static int consider(const struct cobtree *tree, struct cobindex_place place, bool is_before, unsigned i,
                    size_t record_bytes, struct cobtree_share *best)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        const struct bpnode *left, *right;
        struct pair pair;
        bool is_found, is_proper;
        int err = pair_with(tree, place, is_before, &pair, &is_found);
        if (err || !is_found)
                return err;
        err = pair_read(tree, &pair, &left, &right, &is_proper);
        if (err || !is_proper || (is_before ? right : left)->count < SHARES_FROM ||
            !bpnode_may_share(shape, left, right, is_before, i, record_bytes))
                return err;
        size_t taken = bpnode_used(shape, is_before ? left : right);
        if (!best->is_possible || taken < best->taken)
                *best = (struct cobtree_share){ true, is_before, pair.left, pair.right, taken };
        return 0;
}

static int consider_both(const struct cobtree *tree, struct cobindex_place place, unsigned i, size_t record_bytes,
                         struct cobtree_share *best)
{
        int err = consider(tree, place, true, i, record_bytes, best);
        return err ? err : consider(tree, place, false, i, record_bytes, best);
}

/* ---- with the neighbour's neighbour ---- */

/* A neighbour that is too full gives records to the one on its other side, if it has room enough for sharing then. */
static int relieve(const struct cobtree *tree, struct cobindex_place place, bool is_before, size_t its_bytes,
                   bool *is_done)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        struct bpnode_split split; /* not zeroed: 1 KiB */
        const struct bpnode *seen_left, *seen_right;
        struct bpnode *left, *right;
        struct pair pair;
        bool is_found, is_proper;
        *is_done = false;
        int err = pair_with(tree, place, is_before, &pair, &is_found);
        if (!err && is_found)
                err = pair_with(tree, is_before ? pair.left : pair.right, is_before, &pair, &is_found);
        if (err || !is_found)
                return err;
        err = pair_read(tree, &pair, &seen_left, &seen_right, &is_proper);
        if (err || !is_proper || !bpnode_may_even(shape, seen_left, seen_right, is_before, its_bytes))
                return err;
        err = pair_write(tree, &pair, &left, &right);
        if (err)
                return err;
        bpnode_even(shape, left, right, is_before, &split);
        *is_done = true;
        return separate(tree, &pair, &split);
}

int cobtree_plan_share(const struct cobtree *tree, struct cobindex_place place, unsigned i, size_t record_bytes,
                       struct cobtree_share *share)
{
        const struct bpnode *leaf;
        bool is_done;
        int err = consider_both(tree, place, i, record_bytes, share);
        if (err || share->is_possible)
                return err;
        err = cobtree_read(tree, cobtree_page(tree, place), &leaf);
        if (err || leaf->count < RELIEVES_FROM)
                return err;
        const size_t its_bytes = bpnode_used(&tree->index.shape, leaf) + record_bytes;
        err = relieve(tree, place, false, its_bytes, &is_done);
        if (!err && !is_done)
                err = relieve(tree, place, true, its_bytes, &is_done);
        return err || !is_done ? err : consider_both(tree, place, i, record_bytes, share);
}

int cobtree_share(const struct cobtree *tree, const struct cobtree_share *share, unsigned i,
                  const struct bpnode_record *record)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        const struct pair pair = { share->left, share->right, share->is_right };
        struct bpnode_split split; /* not zeroed: 1 KiB */
        struct bpnode *left, *right;
        int err = pair_write(tree, &pair, &left, &right);
        if (err)
                return err;
        bpnode_share(shape, left, right, share->is_right, i, record, &split);
        bpnode_insert(shape, split.is_right ? right : left, split.i, record);
        return separate(tree, &pair, &split);
}
