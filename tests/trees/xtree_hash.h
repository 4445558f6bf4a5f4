/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_XTREE_HASH_H
#define TESTS_TREES_XTREE_HASH_H

/*
 * What a hash table has not, for tests that work on trees of any kind: a scan of a range, in order. All records are
 * taken, sorted and shown in one transaction.
 */

#include <xac/tree.h>

int xtree_hash_scan(xac_tree *table, const void *from, size_t from_len, const void *to, size_t to_len,
                    int (*visit)(void *arg, const xac_tree_record *record), void *arg);

#endif
