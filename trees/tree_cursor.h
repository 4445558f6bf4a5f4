/* SPDX-License-Identifier: MIT */
#ifndef TREES_TREE_CURSOR_H
#define TREES_TREE_CURSOR_H

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

#include "trees/leaf.h"
#include "trees/overflow.h"
#include "trees/tree.h"

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
        /* Where keys are stored in another form than they are given in; NULL: they are not. */
        int (*seek_key)(struct xac_tree_cursor *cursor, const void *key, size_t key_len, enum xac_tree_seek how);
        int (*record)(struct xac_tree_cursor *cursor, xac_tree_record *record);
};

enum tree_cursor_state { CURSOR_NOWHERE, CURSOR_AT, CURSOR_KEPT };

struct kept_key {
        unsigned char *bytes;
        size_t len;
        size_t room;
};

struct xac_tree_cursor {
        struct xac_tree *handle; /* NULL: it was closed */
        const struct bpnode_shape *shape;
        const struct leaf_ways *ways;
        enum tree_cursor_state state;
        bool is_deleted; /* KEPT: the record was deleted through this cursor; it stands where it was */
        uint64_t txn;
        struct leaf_place *at;       /* AT: in `path` */
        struct overflow_place place; /* AT: where reading its value goes on */
        void *path, *path_to_be;
        struct kept_key key;
        struct kept_key spare;  /* where it will stand, should the transaction be committed */
        unsigned char shown[8]; /* of ways->record: a key in the form that is given */
        struct xac_tree_cursor *next;
};

/* The public calls without what the kind of tree does beyond them, for the kind itself. */
int tree_cursor_seek(struct xac_tree_cursor *cursor, const void *key, size_t key_len, enum xac_tree_seek how);
int tree_cursor_record(struct xac_tree_cursor *cursor, xac_tree_record *record);

/* ---- all cursors of a handle ---- */

/* Before a change of the tree in this transaction: its cursors note their keys. Before a level begins in which the
 * change is made, for in that level they are not of this transaction. -ENOMEM. */
int tree_cursors_save(struct xac_tree *handle);
/* The tree is gone, or its handle: no cursor finds its place again. */
void tree_cursors_forget(struct xac_tree *handle);
void tree_cursors_orphan(struct xac_tree *handle);
/* After such a level they go on in this transaction, if they were valid in that one. */
void tree_cursors_carry(struct xac_tree *handle, uint64_t txn);

static inline int tree_cursors_before_change(struct xac_tree *handle)
{
        return handle->cursors ? tree_cursors_save(handle) : 0;
}

#endif
