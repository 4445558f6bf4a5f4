/* SPDX-License-Identifier: MIT */
#ifndef TREES_LEAF_CURSOR_H
#define TREES_LEAF_CURSOR_H

/*
 * Cursors over the leaves of a tree of either kind. Where one stands:
 *
 *      NOWHERE --placed in a transaction--> AT --the tree is about to change--> KEPT --next use--> AT
 *              --placed outside of one----------------------------------------> KEPT
 *
 * AT: a path, and pointers into pages, that hold in transaction `txn` alone. KEPT: a key, to be looked up again; in
 * transaction `txn`, or in any when that is 0. A cursor whose transaction has ended stays behind: -ESTALE.
 *
 * A move makes a path of its own and takes it over at the end, so that one that fails leaves the cursor where it was.
 */

#include "trees/handle.h"
#include "trees/leaf.h"
#include "trees/overflow.h"

/* How a kind of tree finds its leaves. A path is what it needs to remember of the way; `at`, which is in the path, is
 * the record, or the place where it would be. -ESTALE, XAC_CORRUPT, ARENA_LOST. */
struct leaf_ways {
        size_t path_bytes;
        int (*seek)(const void *tree, struct bpnode_key key, void *path, struct leaf_place **at, bool *is_equal);
        /* -ENOENT: the tree is empty. */
        int (*first)(const void *tree, void *path, struct leaf_place **at);
        int (*last)(const void *tree, void *path, struct leaf_place **at);
        /* To the first record of the next leaf, the last of the previous one. -ENOENT: there is none. */
        int (*next)(const void *tree, void *path, struct leaf_place **at);
        int (*previous)(const void *tree, void *path, struct leaf_place **at);
        void (*copy)(void *to, const void *from, struct leaf_place **at);
        /* Inside a transaction. -ENOENT. */
        int (*remove)(void *tree, struct bpnode_key key);
};

enum leaf_cursor_state { CURSOR_NOWHERE, CURSOR_AT, CURSOR_KEPT };

struct kept_key {
        unsigned char *bytes;
        size_t len;
        size_t room;
};

struct leaf_cursor {
        struct handle *handle; /* NULL: it was closed */
        const struct bpnode_shape *shape;
        const struct leaf_ways *ways;
        enum leaf_cursor_state state;
        bool is_deleted; /* KEPT: the record was deleted through this cursor; it stands where it was */
        uint64_t txn;
        struct leaf_place *at;       /* AT: in `path` */
        struct overflow_place place; /* AT: where reading its value goes on */
        void *path, *path_to_be;
        struct kept_key key;
        struct kept_key spare; /* where it will stand, should the transaction be committed */
        struct leaf_cursor *next;
};

enum leaf_move { MOVE_FIRST, MOVE_LAST, MOVE_SEEK, MOVE_NEXT, MOVE_PREVIOUS, MOVE_STAY, MOVE_STAY_OR_NEXT };

/* One for the tree of a handle. -ENOMEM. */
int leaf_cursor_open(struct handle *handle, const struct bpnode_shape *shape, const struct leaf_ways *ways,
                     struct leaf_cursor **cursor);
void leaf_cursor_close(struct leaf_cursor *cursor);
int leaf_cursor_move(struct leaf_cursor *cursor, enum leaf_move kind);
int leaf_cursor_seek(struct leaf_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how);
int leaf_cursor_record(struct leaf_cursor *cursor, bptree_record *record);
int leaf_cursor_read(struct leaf_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len);
int leaf_cursor_delete(struct leaf_cursor *cursor);

/* Whether it stands in a leaf of this transaction, so that a step needs no look at the tree. */
static inline struct leaf_place *leaf_cursor_at_hand(const struct leaf_cursor *cursor)
{
        if (cursor->state != CURSOR_AT || !cursor->handle || cursor->txn != arena_txn(cursor->handle->arena))
                return NULL;
        return cursor->at;
}

static inline int leaf_cursor_next(struct leaf_cursor *cursor)
{
        struct leaf_place *at = leaf_cursor_at_hand(cursor);
        if (!at || at->i + 1 >= at->node->count)
                return leaf_cursor_move(cursor, MOVE_NEXT);
        at->i++;
        cursor->place.page = PAGE_NONE;
        return 0;
}

static inline int leaf_cursor_previous(struct leaf_cursor *cursor)
{
        struct leaf_place *at = leaf_cursor_at_hand(cursor);
        if (!at || !at->i)
                return leaf_cursor_move(cursor, MOVE_PREVIOUS);
        at->i--;
        cursor->place.page = PAGE_NONE;
        return 0;
}

/* ---- all cursors of a handle ---- */

/* Before a change of the tree in this transaction: its cursors note their keys. Before a level begins in which the
 * change is made, for in that level they are not of this transaction. -ENOMEM. */
int leaf_cursors_save(struct handle *handle);
/* The tree is gone, or its handle: no cursor finds its place again. */
void leaf_cursors_forget(struct handle *handle);
void leaf_cursors_orphan(struct handle *handle);
/* After such a level they go on in this transaction, if they were valid in that one. */
void leaf_cursors_carry(struct handle *handle, uint64_t txn);

static inline int leaf_cursors_before_change(struct handle *handle)
{
        return handle->cursors ? leaf_cursors_save(handle) : 0;
}

#endif
