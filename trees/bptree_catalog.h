/* SPDX-License-Identifier: MIT */
#ifndef TREES_BPTREE_CATALOG_H
#define TREES_BPTREE_CATALOG_H

/*
 * The catalog of an arena: a tree from the names of trees to what they are (tree.h). It is a tree like all others,
 * but for its root, which stands at a fixed place (arena.h), and is made together with the first tree: until
 * then that page is fresh, and the catalog empty.
 *
 * Its functions are called inside a transaction.
 */

#include "trees/bptree.h"

enum { CATALOG_TREE_ID = 1 };

/* The catalog itself, as a tree that is not open anywhere else. */
void catalog_tree(struct xac_arena *arena, struct bptree *catalog);
/* Whether it is there already. ARENA_LOST. */
int catalog_is_made(struct xac_arena *arena, bool *is_made);

/* XAC_CORRUPT: such a record was never written. */
int catalog_parse(const void *value, size_t value_len, struct catalog_record *record);

/* Whether it can be a name. */
bool catalog_takes_name(const char *name);

/* -ENOENT, XAC_CORRUPT, ARENA_LOST. */
int catalog_find(struct xac_arena *arena, const char *name, struct catalog_record *record);
/* -ENOSPC, -ENOMEM. */
int catalog_add(struct xac_arena *arena, const char *name, const struct catalog_record *record);
int catalog_remove(struct xac_arena *arena, const char *name);

#endif
