/* SPDX-License-Identifier: MIT */
#ifndef XAC_COBTREE_H
#define XAC_COBTREE_H

/*
 * A cache-oblivious B-tree in the pages of an arena: the calls, outcomes and promises of <xac/bptree.h>, word for
 * word, on another structure. Records lie in a packed memory array, in which a scan runs from page to page as they
 * lie; a static index in van Emde Boas layout leads to them. docs/COBTREE.md has the idea, its sources, and figures
 * beside the B+-tree's.
 *
 *         page_arena *arena;
 *         cobtree *words;
 *         page_arena_open_env(env, "words", PAGE_ARENA_DECLARED, &arena);
 *         cobtree_open(arena, "english", COBTREE_CREATE, NULL, &words);
 *         cobtree_put(words, "tree", 4, "Baum", 4, 0);
 *
 * Take the B+-tree unless you scan much: a tree begins with 2 MiB of address space, and a put is a little slower.
 *
 * What differs from the B+-tree: outside of a transaction a put that needs much room runs some transactions that move
 * pages before its own. Inside an open one all of that is part of it, so that a few puts may write some hundred
 * pages.
 */

#include <xac/bptree.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cobtree_flags {
        COBTREE_CREATE = BPTREE_CREATE,
        COBTREE_EXCL = BPTREE_EXCL,
        COBTREE_NOOVERWRITE = BPTREE_NOOVERWRITE
};

typedef struct cobtree cobtree;
typedef struct cobtree_cursor cobtree_cursor;

/* Records, options, statistics and reports are the B+-tree's. Trees of both kinds share the names of an arena: the
 * name of a tree of the other kind is -EINVAL. bptree_drop(), bptree_names() and bptree_check() serve both. */
typedef bptree_options cobtree_options;
typedef bptree_record cobtree_record;

typedef struct cobtree_stats {
        uint64_t records;
        uint64_t extents;
        uint64_t segments;      /* places in all of them */
        uint64_t used_segments; /* that hold records */
        uint64_t index_pages, overflow_pages;
        uint64_t segment_bytes_used; /* of records in segments */
} cobtree_stats;

int cobtree_open(page_arena *arena, const char *name, int flags, const cobtree_options *options, cobtree **tree);
void cobtree_close(cobtree *tree);

int cobtree_put(cobtree *tree, const void *key, size_t key_len, const void *value, size_t value_len, int flags);
int cobtree_get(cobtree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
int cobtree_delete(cobtree *tree, const void *key, size_t key_len);
int cobtree_scan(cobtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                 int (*visit)(void *arg, const cobtree_record *record), void *arg);
int cobtree_scan_runs(cobtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                      int (*visit)(void *arg, const void *records, size_t count), void *arg);
int cobtree_load(cobtree *tree, int (*next)(void *arg, cobtree_record *record), void *arg);

int cobtree_cursor_open(cobtree *tree, cobtree_cursor **cursor);
void cobtree_cursor_close(cobtree_cursor *cursor);
int cobtree_cursor_first(cobtree_cursor *cursor);
int cobtree_cursor_last(cobtree_cursor *cursor);
int cobtree_cursor_seek(cobtree_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how);
int cobtree_cursor_next(cobtree_cursor *cursor);
int cobtree_cursor_previous(cobtree_cursor *cursor);
int cobtree_cursor_record(cobtree_cursor *cursor, cobtree_record *record);
int cobtree_cursor_read(cobtree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len);
int cobtree_cursor_delete(cobtree_cursor *cursor);

int cobtree_stat(cobtree *tree, cobtree_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
