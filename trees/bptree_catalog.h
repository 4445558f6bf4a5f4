/* SPDX-License-Identifier: MIT */
#ifndef TREES_BPTREE_CATALOG_H
#define TREES_BPTREE_CATALOG_H

/*
 * The catalog of an arena: a tree from the names of trees to what they are. It is a tree like all others, but for
 * its root, which stands at a fixed place (page_arena.h), and is made together with the first tree: until then that
 * page is fresh, and the catalog empty.
 *
 * Its functions are called inside a transaction.
 */

#include "trees/bptree.h"

enum { CATALOG_TREE_ID = 1 };

enum { CATALOG_OWN_ORDER = 1 /* in catalog_record.flags: by a comparison that has to be given at each open */ };

/* The value beside a name. */
struct catalog_record {
        uint32_t root;
        uint32_t tree_id;
        uint32_t key_bytes;
        uint32_t value_bytes;
        uint32_t flags;
};

/* The catalog itself, as a tree that is not open anywhere else. */
void catalog_tree(struct page_arena *arena, struct bptree *catalog);
/* The tree of a record; without a comparison. */
void catalog_tree_of(struct page_arena *arena, const struct catalog_record *record, struct bptree *tree);
/* Whether it is there already. ARENA_LOST. */
int catalog_is_made(struct page_arena *arena, bool *is_made);

/* XAC_CORRUPT: such a record was never written. */
int catalog_parse(const void *value, size_t value_len, struct catalog_record *record);

/* -ENOENT, XAC_CORRUPT, ARENA_LOST. */
int catalog_find(struct page_arena *arena, const char *name, struct catalog_record *record);
/* -ENOSPC, -ENOMEM. */
int catalog_add(struct page_arena *arena, const char *name, const struct catalog_record *record);
int catalog_remove(struct page_arena *arena, const char *name);

#endif
