/* SPDX-License-Identifier: MIT */
#ifndef TREES_COBTREE_H
#define TREES_COBTREE_H

/*
 * The inside of <xac/tree.h>: what the files of the tree share. Serial code over an arena, as the B+-tree is;
 * segments are its leaves (bpnode.h), and what is done within one is the same code (leaf.h). cobindex.h leads to
 * them.
 *
 * The life of a put:
 *
 *  1. cobtree_put looks at the lengths and runs put_body in a transaction: the one that is open, or its own.
 *  2. cobindex_find goes through the top and the extent's index to the place of the segment.
 *  3. There is room: leaf_put, and that was all. One page written, and no index.
 *  4. There is none, but the place behind it is empty: the upper half of the records goes there, and the index is told
 *     (cobindex_use_next).
 *
 *         before   | 1 2 3 4 5 6 |               | 7 8 |
 *         after    | 1 2 3       | 4 5 6 +       | 7 8 |
 *
 *     Better still, a segment beside it has room enough: then the two share their records (cobtree_share), and the
 *     separator between them is another (cobindex_separate). No place is used up, and segments are fuller. If only
 *     the one behind that has room, those two share first.
 *
 *         before   | 1 2 3 4 5 6 | 8 9 |
 *         after    | 1 2 3 4 | 5 6 + 8 9 |
 *
 *  5. There is no place: pages have to move. Where one step of cobindex_make_room is enough, it is part of the put.
 *     Else the put's own transaction ends without a change, each step is one of its own, and the put begins anew;
 *     inside an open transaction all steps are part of that.
 *
 * The invariants of the index are C1 to C5 (cobindex.h); of those of bptree.h T1, T3 and T4 hold here as well. No
 * used segment is empty: the first record makes a segment used, and the last one takes it along.
 */

#include <xac/tree.h>

#include "trees/cobindex.h"
#include "trees/leaf.h"
#include "trees/tree_cursor.h"

enum { COBTREE_NO_EXTENT = COBINDEX_EXTENTS_MAX };

struct cobtree {
        struct cobindex index; /* with arena, root, and shape of the segments */
        uint32_t thin_extent;  /* a segment of it was freed, and nobody has looked yet whether it is needed;
                                  COBTREE_NO_EXTENT */
        struct xac_tree handle;
};

/* The tree of a catalog's record. */
void cobtree_init(struct xac_arena *arena, const struct catalog_record *record, xac_tree_compare compare,
                  void *compare_arg, struct cobtree *tree);

/* ---- segments ---- */

static inline page_no cobtree_page(const struct cobtree *tree, struct cobindex_place place)
{
        return cobindex_segment_page(&tree->index, place);
}

/* Whether the page is one that is used. */
static inline bool cobtree_is_segment(const struct cobtree *tree, const struct bpnode *leaf)
{
        return bpnode_is_of(&tree->index.shape, leaf, 0) && leaf->count;
}

/* A used segment. ARENA_LOST, XAC_CORRUPT. */
static inline int cobtree_read(const struct cobtree *tree, page_no page, const struct bpnode **leaf)
{
        const struct bpnode *found = arena_read(tree->index.arena, page);
        if (!found)
                return ARENA_LOST;
        if (!cobtree_is_segment(tree, found))
                return XAC_CORRUPT;
        *leaf = found;
        return 0;
}

static inline int cobtree_write(const struct cobtree *tree, page_no page, struct bpnode **leaf)
{
        *leaf = arena_write(tree->index.arena, page);
        if (!*leaf)
                return ARENA_LOST;
        return bpnode_is_of(&tree->index.shape, *leaf, 0) ? 0 : XAC_CORRUPT;
}

/* ---- cobtree_share.c ---- */

/* A segment that is full, and one beside it that takes some of its records. */
struct cobtree_share {
        bool is_possible;
        bool is_right; /* the right one is full */
        struct cobindex_place left, right;
        size_t taken; /* bytes that were used in the one beside it */
};

/* For a record that is to be at i and has no room: whether the segment may share its records with one beside it,
 * instead of being split. Where both have too little room, one of them may give records to the segment on its other
 * side first, which changes these two. */
int cobtree_plan_share(const struct cobtree *tree, struct cobindex_place place, unsigned i, size_t record_bytes,
                       struct cobtree_share *share);
/* Where that was possible: the record is in one of the two then. */
int cobtree_share(const struct cobtree *tree, const struct cobtree_share *share, unsigned i,
                  const struct bpnode_record *record);

/* ---- cobtree_put.c, cobtree_delete.c ---- */

/* Inside a transaction. -ENOENT. */
int cobtree_remove_key(struct cobtree *tree, struct bpnode_key key);
/* After a deletion, and outside of its transaction where that was its own: gives extents back that are nearly empty. */
int cobtree_tidy(struct cobtree *tree);

/* ---- cobtree_stat.c ---- */

/* Every used segment, in order; a visit that does not return 0 ends it. -ESTALE, XAC_CORRUPT, ARENA_LOST. */
int cobtree_walk(const struct cobtree *tree, int (*visit)(void *arg, page_no page, const struct bpnode *leaf),
                 void *arg);

/* ---- the calls of <xac/tree.h> ---- */

int cobtree_put(struct xac_tree *handle, const void *key, size_t key_len, const void *value, size_t value_len,
                int flags);
int cobtree_get(struct xac_tree *handle, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
int cobtree_delete(struct xac_tree *handle, const void *key, size_t key_len);
int cobtree_load(struct xac_tree *handle, int (*next)(void *arg, xac_tree_record *record), void *arg);
int cobtree_scan(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                 int (*visit)(void *arg, const xac_tree_record *record), void *arg);
int cobtree_scan_runs(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                      int (*visit)(void *arg, const void *records, size_t count), void *arg);
int cobtree_stat(struct xac_tree *handle, xac_tree_stats *stats);

extern const struct leaf_ways cobtree_ways;

#endif
