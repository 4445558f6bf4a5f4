/* SPDX-License-Identifier: MIT */
#ifndef TREES_TREE_H
#define TREES_TREE_H

/*
 * What is open of a tree, whatever its kind: the name, what the catalog says of it, whether that is certain yet, the
 * cursors that are open, and what kind it is. naming_open.c makes handles; tree.c has the public calls, which ask the
 * kind; these ask tree_enter() first.
 */

#include <xac/tree.h>

#include "pages/arena.h"

enum {
        CATALOG_OWN_ORDER = 1, /* by a comparison that has to be given at each open */
        CATALOG_COBTREE = 2,   /* a cache-oblivious B-tree; */
        CATALOG_EHASH = 4,     /* a hash table; else a B+-tree */
        CATALOG_KINDS = CATALOG_COBTREE | CATALOG_EHASH
};

/* What stands in the catalog beside the name of a tree. */
struct catalog_record {
        uint32_t root;
        uint32_t tree_id;
        uint32_t key_bytes;
        uint32_t value_bytes;
        uint32_t flags;
};

struct leaf_ways;
struct bpnode_shape;

/* The calls of <xac/tree.h> that differ from kind to kind, and what else does. NULL: the kind has none. */
struct tree_kind {
        enum xac_tree_kind number;
        uint32_t flag;     /* its bit of CATALOG_KINDS, or none */
        size_t tree_bytes; /* of the struct that has the handle in it */
        /* Inside a transaction: the tree of a record, in pages of which the root is taken. */
        int (*make)(struct xac_arena *arena, const struct catalog_record *record);
        /* A handle that is closed again, but for what naming_open.c fills in. */
        struct xac_tree *(*begin)(struct xac_arena *arena, const struct catalog_record *record,
                                  xac_tree_compare compare, void *compare_arg, void *tree);
        void (*end)(void *tree);
        const struct bpnode_shape *(*shape)(const void *tree);
        const struct leaf_ways *ways;
        int (*put)(struct xac_tree *handle, const void *key, size_t key_len, const void *value, size_t value_len,
                   int flags);
        int (*get)(struct xac_tree *handle, const void *key, size_t key_len, void *value, size_t room,
                   size_t *value_len);
        int (*delete)(struct xac_tree *handle, const void *key, size_t key_len);
        int (*scan)(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                    int (*visit)(void *arg, const xac_tree_record *record), void *arg);
        int (*scan_runs)(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                         int (*visit)(void *arg, const void *records, size_t count), void *arg);
        int (*scan_leaves)(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                           int (*visit)(void *arg, const xac_tree_leaf_view *view), void *arg);
        int (*load)(struct xac_tree *handle, int (*next)(void *arg, xac_tree_record *record), void *arg);
        int (*arrange)(struct xac_tree *handle);
        int (*stat)(struct xac_tree *handle, xac_tree_stats *stats);
};

extern const struct tree_kind bptree_kind, cobtree_kind, ehash_kind;

static inline const struct tree_kind *tree_kind_of(const struct catalog_record *record)
{
        return record->flags & CATALOG_COBTREE ? &cobtree_kind
               : record->flags & CATALOG_EHASH ? &ehash_kind
                                               : &bptree_kind;
}

struct xac_tree {
        struct xac_arena *arena;
        void *tree; /* the bptree, cobtree or ehash that it is part of */
        const struct tree_kind *kind;
        struct catalog_record record;
        xac_tree_compare compare; /* of the tree's own order */
        void *compare_arg;
        struct xac_tree_cursor *cursors; /* that are open */
        /* While it is not sure that the transaction in which the tree was found takes effect: says whether it is there
         * (naming_open.c). NULL: it is. */
        int (*confirm)(struct xac_tree *handle);
        uint64_t confirmed_in; /* arena_txn() in which it is known to be there */
        struct xac_tree *next; /* of the arena's */
        uint32_t opens;        /* how often it was opened */
        char name[XAC_TREE_NAME_MAX + 1];
};

/* Before each public operation. */
static inline int tree_enter(struct xac_tree *handle)
{
        return handle->confirm ? handle->confirm(handle) : 0;
}

/* How a body ends that has changed nothing: what it found stands beside it, and the transaction has the last word on
 * whether what it saw was true. */
static inline int tree_settle(int *result, int outcome)
{
        if (outcome == ARENA_LOST)
                return ARENA_LOST;
        *result = outcome;
        return 0;
}

#endif
