/* SPDX-License-Identifier: MIT */
#ifndef TREES_HANDLE_H
#define TREES_HANDLE_H

/*
 * What the handles of all kinds of trees have in common: the name, what the catalog says of it, whether that is
 * certain yet, and the cursors that are open. naming_open.c makes handles; everybody else asks handle_enter().
 */

#include <xac/bptree.h>

#include "pages/page_arena.h"

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

struct leaf_cursor;

struct handle {
        struct page_arena *arena;
        void *tree; /* the bptree, cobtree or ehash that it is part of */
        struct catalog_record record;
        bptree_compare compare; /* of the tree's own order */
        void *compare_arg;
        struct leaf_cursor *cursors; /* that are open */
        /* While it is not sure that the transaction in which the tree was found takes effect: says whether it is there
         * (naming_open.c). NULL: it is. */
        int (*confirm)(struct handle *handle);
        uint64_t confirmed_in; /* arena_txn() in which it is known to be there */
        struct handle *next;   /* of the arena's */
        uint32_t opens;        /* how often it was opened */
        char name[BPTREE_NAME_MAX + 1];
};

/* Before each public operation. */
static inline int handle_enter(struct handle *handle)
{
        return handle->confirm ? handle->confirm(handle) : 0;
}

/* How a body ends that has changed nothing: what it found stands beside it, and the transaction has the last word on
 * whether what it saw was true. */
static inline int handle_settle(int *result, int outcome)
{
        if (outcome == ARENA_LOST)
                return ARENA_LOST;
        *result = outcome;
        return 0;
}

#endif
