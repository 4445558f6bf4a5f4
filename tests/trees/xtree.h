/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_XTREE_H
#define TESTS_TREES_XTREE_H

/*
 * Which kind of tree the tests of what all kinds promise work on: a process works on trees of one kind at a time.
 *
 * Hash tables have no order, and are for tests that ask for none but in xtree_scan() (xtree_hash.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/tree.h>

enum xtree_kind { XTREE_BPTREE, XTREE_COBTREE, XTREE_ORDERED, XTREE_EHASH = XTREE_ORDERED, XTREE_KINDS };

/* By number. */
extern const char *const xtree_names[XTREE_KINDS];

/* For all threads of this process, and those that it makes; before trees are open. */
void xtree_choose(enum xtree_kind kind);
bool xtree_is_cob(void);
bool xtree_is_hash(void);
const char *xtree_name(void);
/* False: no kind has this name. */
bool xtree_choose_named(const char *name);

/* What all can say of themselves. */
typedef struct xtree_stats {
        uint64_t records;
        uint64_t record_pages; /* leaves; used segments; buckets */
        uint64_t bytes_used;   /* of records in those */
        uint64_t index_pages;  /* inner nodes; all that leads to segments */
        uint64_t overflow_pages;
        uint64_t height; /* levels; extents of a cobtree; bits of a hash table */
} xtree_stats;

/* Of the kind that was chosen, whatever `options` say of that. */
int xtree_open(xac_arena *arena, const char *name, int flags, const xac_tree_options *options, xac_tree **tree);
int xtree_scan(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
               int (*visit)(void *arg, const xac_tree_record *record), void *arg);
int xtree_stat(xac_tree *tree, xtree_stats *stats);

#endif
