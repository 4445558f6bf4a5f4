/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_XTREE_H
#define TESTS_TREES_XTREE_H

/*
 * Trees of all kinds by one set of names, for tests of what all promise. The calls are those of <xac/bptree.h>,
 * <xac/cobtree.h> and <xac/ehash.h>; a process works on trees of one kind at a time. What they have in common (records,
 * options, reports, bptree_drop, bptree_names, bptree_check) is used by its own name.
 *
 * Hash tables have no order, and are for tests that ask for none but in xtree_scan() (xtree_hash.h): their cursors seek
 * by BPTREE_EQ alone, and xtree_load() and xtree_scan_runs() are -ENOTSUP.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/bptree.h>

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

enum { XTREE_CREATE = BPTREE_CREATE, XTREE_EXCL = BPTREE_EXCL, XTREE_NOOVERWRITE = BPTREE_NOOVERWRITE };

/* A bptree, a cobtree or an ehash; its cursor. */
typedef struct xtree xtree;
typedef struct xtree_cursor xtree_cursor;

/* What all can say of themselves. */
typedef struct xtree_stats {
        uint64_t records;
        uint64_t record_pages; /* leaves; used segments; buckets */
        uint64_t bytes_used;   /* of records in those */
        uint64_t index_pages;  /* inner nodes; all that leads to segments */
        uint64_t overflow_pages;
        uint64_t height; /* levels; extents of a cobtree; bits of a hash table */
} xtree_stats;

int xtree_open(page_arena *arena, const char *name, int flags, const bptree_options *options, xtree **tree);
void xtree_close(xtree *tree);

int xtree_put(xtree *tree, const void *key, size_t key_len, const void *value, size_t value_len, int flags);
int xtree_get(xtree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
int xtree_delete(xtree *tree, const void *key, size_t key_len);
int xtree_scan(xtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
               int (*visit)(void *arg, const bptree_record *record), void *arg);
int xtree_scan_runs(xtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                    int (*visit)(void *arg, const void *records, size_t count), void *arg);
int xtree_load(xtree *tree, int (*next)(void *arg, bptree_record *record), void *arg);

int xtree_cursor_open(xtree *tree, xtree_cursor **cursor);
void xtree_cursor_close(xtree_cursor *cursor);
int xtree_cursor_first(xtree_cursor *cursor);
int xtree_cursor_last(xtree_cursor *cursor);
int xtree_cursor_seek(xtree_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how);
int xtree_cursor_next(xtree_cursor *cursor);
int xtree_cursor_previous(xtree_cursor *cursor);
int xtree_cursor_record(xtree_cursor *cursor, bptree_record *record);
int xtree_cursor_read(xtree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len);
int xtree_cursor_delete(xtree_cursor *cursor);

int xtree_stat(xtree *tree, xtree_stats *stats);

#endif
