/* SPDX-License-Identifier: MIT */
#ifndef TREES_BPTREE_H
#define TREES_BPTREE_H

/*
 * The inside of <xac/tree.h>: what the files of the tree share. All of it is serial code over an arena.
 *
 * The life of a put:
 *
 *  1. bptree_put looks at the lengths and runs put_body in a transaction: the one that is open, or its own.
 *  2. bptree_leaf_page goes down from the root, one bpnode_find_child a level, to the number of the leaf.
 *  3. arena_write makes the leaf writable; bpnode_find says where the key is or would be.
 *  4. There is room: bpnode_insert, and that was all. One page written; nothing is counted anywhere, and no other
 *     page knows how many records there are, so that puts into different leaves have nothing in common.
 *  5. There is none: put_slowly goes down again, remembers the path, reserves the pages that splits may need (T3)
 *     and lets bptree_split make room from the leaf upwards. A root that is full moves into a new child first:
 *
 *         before  root | 1 2 3 4 5 6 |
 *         after   root | - 4 |   and its children   | 1 2 3 |  and  | 4 5 6 |
 *
 *  6. The transaction ends. What conflicts is run again from 1.
 *
 * Invariants; comments cite them by number:
 *
 *  T1  The root page of a tree never moves: a handle keeps its number, and no operation reads a page to find it. All
 *      nodes carry the tree's id, which is never used again: where the root page is another's, the tree was dropped.
 *  T2  A key lies in exactly the leaf that the separators lead to: low <= key < high at every level. There are no
 *      links between leaves; whoever wants the next one goes through the parents.
 *  T3  What can fail comes before the first change: memory, pages, damage that can be seen. Afterwards only a lost
 *      transaction (ARENA_LOST) ends an operation in the middle, and that is undone as a whole.
 *  T4  Every page is reached exactly once, from the catalog on, or is free.
 *  T5  Levels count down to 0 on every way from a root to a leaf: no way is longer than BPTREE_LEVELS_MAX, whatever the
 *      bytes say. No node but a root is empty, and a root that is an inner node has two children at least.
 */

#include <errno.h>
#include <string.h>

#include "pages/page_alloc.h"
#include "trees/leaf.h"
#include "trees/tree_cursor.h"

enum { BPTREE_LEVELS_MAX = 32 };

struct bptree {
        struct xac_arena *arena;
        page_no root;
        struct bpnode_shape shape;
        struct xac_tree handle;
};

/* A way from the root to a leaf, in one transaction. */
struct bptree_path {
        unsigned depth;    /* the leaf's step */
        unsigned run;      /* leaves that were passed, one behind the other */
        unsigned expected; /* children of the leaf's parent before that one are in memory, or on their way there */
        struct leaf_place steps[BPTREE_LEVELS_MAX];
};

/* The tree of a catalog's record. */
void bptree_init(struct xac_arena *arena, const struct catalog_record *record, xac_tree_compare compare,
                 void *compare_arg, struct bptree *tree);

/* ---- going down ---- */

/* ARENA_LOST, -ESTALE: there is no such tree any more (T1), XAC_CORRUPT. */
static inline int bptree_root(const struct bptree *tree, const struct bpnode **root)
{
        const struct bpnode *node = arena_read(tree->arena, tree->root);
        if (!node)
                return ARENA_LOST;
        if (!bpnode_is_of(&tree->shape, node, node->level))
                return -ESTALE;
        if (node->level && !node->count)
                return XAC_CORRUPT;
        *root = node;
        return 0;
}

/* The page of a child, which is there, whatever is in it. ARENA_LOST, -ENOMEM, XAC_CORRUPT. */
static inline int bptree_child(const struct bptree *tree, const struct bpnode *node, unsigned i, page_no *page)
{
        *page = bpnode_child(&tree->shape, node, i);
        return page_alloc_reach(tree->arena, *page);
}

/* A child's node. ARENA_LOST, XAC_CORRUPT: it is no node of this tree at this level (T5). */
static inline int bptree_node(const struct bptree *tree, page_no page, unsigned level, const struct bpnode **node)
{
        const struct bpnode *found = arena_read(tree->arena, page);
        if (!found)
                return ARENA_LOST;
        if (!bpnode_is_of(&tree->shape, found, (uint8_t)level) || !found->count)
                return XAC_CORRUPT;
        *node = found;
        return 0;
}

/* A node to be changed. ARENA_LOST, XAC_CORRUPT: it is none, because a damaged map has made something else of it. */
static inline int bptree_write_node(const struct bptree *tree, page_no page, unsigned level, struct bpnode **node)
{
        *node = arena_write(tree->arena, page);
        if (!*node)
                return ARENA_LOST;
        return bpnode_is_of(&tree->shape, *node, (uint8_t)level) ? 0 : XAC_CORRUPT;
}

/* The leaf that a key belongs into, which is not touched yet (unless it is the root). */
static inline int bptree_leaf_page(const struct bptree *tree, struct bpnode_key key, page_no *leaf)
{
        const struct bpnode *node;
        int err = bptree_root(tree, &node);
        if (err)
                return err;
        page_no page = tree->root;
        for (unsigned level = node->level; level;) {
                err = bptree_child(tree, node, bpnode_find_child(&tree->shape, node, key), &page);
                if (!err && --level)
                        err = bptree_node(tree, page, level, &node);
                if (err)
                        return err;
        }
        *leaf = page;
        return 0;
}

/* ---- bptree_path.c; -ESTALE, XAC_CORRUPT, ARENA_LOST ---- */

/* To the key, or to where it would be. */
int bptree_path_seek(const struct bptree *tree, struct bpnode_key key, struct bptree_path *path, bool *is_equal);
/* To the first record, or the last; an empty tree: 0 of 0. */
int bptree_path_first(const struct bptree *tree, struct bptree_path *path);
int bptree_path_last(const struct bptree *tree, struct bptree_path *path);
/* To the first record of the next leaf, or the last one of the previous leaf. -ENOENT: there is none, and the path
 * is as it was. */
int bptree_path_next_leaf(const struct bptree *tree, struct bptree_path *path);
int bptree_path_previous_leaf(const struct bptree *tree, struct bptree_path *path);

static inline struct leaf_place *bptree_path_leaf(struct bptree_path *path)
{
        return &path->steps[path->depth];
}

/* Every node, a parent before its children; a visit that does not return 0 ends it. */
int bptree_walk(const struct bptree *tree, int (*visit)(void *arg, page_no page, const struct bpnode *node), void *arg);

/* ---- operations inside a transaction ---- */

/* Copies a value, or its beginning (-ERANGE). -ENOENT. */
int bptree_get_value(const struct bptree *tree, struct bpnode_key key, void *value, size_t room, size_t *value_len);
/* bptree_put.c: -EEXIST (XAC_TREE_NOOVERWRITE), -ENOSPC, -ENOMEM. */
int bptree_put_value(struct bptree *tree, struct bpnode_key key, const void *value, size_t value_len, int flags);
/* A record at the end of a path, in place of the one that is there (is_equal) or before it; a long value is written
 * into overflow pages. The cursors were saved. -ENOSPC, -ENOMEM: nothing has happened (T3). */
int bptree_store(const struct bptree *tree, struct bptree_path *path, bool is_equal, struct bpnode_key key,
                 const void *value, size_t value_len);
/* bptree_delete.c: -ENOENT. */
int bptree_remove_key(struct bptree *tree, struct bpnode_key key);
/* bptree_scan.c: all records; *result is what the visit returned. -ESTALE, XAC_CORRUPT, ARENA_LOST. */
int bptree_scan_all(struct bptree *tree, int (*visit)(void *arg, const xac_tree_record *record), void *arg,
                    int *result);

/* bptree_delete.c: a node that is none any more. It is written to, so that this conflicts with whoever changes it at
 * the same time, also if his reads are not validated (XAC_SNAPSHOT_ISOLATION); and a handle sees that its root has gone
 * (T1). */
int bptree_free_node(const struct bptree *tree, page_no page);

/* ---- bptree_split.c ---- */

/* Reserves what bptree_split may take on this path; where pages have to be taken for that, `spare` more if possible. */
int bptree_split_reserve(const struct bptree *tree, const struct bptree_path *path, uint32_t spare,
                         struct page_reserve *reserve);
/* Inserts a record at the end of the path, where there is no room for it. ARENA_LOST. */
int bptree_split(const struct bptree *tree, struct bptree_path *path, const struct bpnode_record *record,
                 struct page_reserve *reserve);

/* ---- the calls of <xac/tree.h> ---- */

int bptree_put(struct xac_tree *handle, const void *key, size_t key_len, const void *value, size_t value_len,
               int flags);
int bptree_get(struct xac_tree *handle, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
int bptree_delete(struct xac_tree *handle, const void *key, size_t key_len);
int bptree_load(struct xac_tree *handle, int (*next)(void *arg, xac_tree_record *record), void *arg);
int bptree_scan(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                int (*visit)(void *arg, const xac_tree_record *record), void *arg);
int bptree_scan_runs(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                     int (*visit)(void *arg, const void *records, size_t count), void *arg);
int bptree_scan_leaves(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                       int (*visit)(void *arg, const xac_tree_leaf_view *view), void *arg);
int bptree_stat(struct xac_tree *handle, xac_tree_stats *stats);

extern const struct leaf_ways bptree_ways;

#endif
