/* SPDX-License-Identifier: MIT */
#ifndef XAC_BPTREE_H
#define XAC_BPTREE_H

/*
 * A B+-tree in the pages of an arena: serial code that libxac makes concurrent and durable.
 *
 *         page_arena *arena;
 *         bptree *words;
 *         page_arena_open_env(env, "words", PAGE_ARENA_DECLARED, &arena);
 *         bptree_open(arena, "english", BPTREE_CREATE, NULL, &words);
 *         bptree_put(words, "tree", 4, "Baum", 4, 0);
 *
 * Each call joins the transaction that this thread has open, or runs one of its own (with retries, as
 * xac_run() does). Inside an open transaction a call that fails has changed nothing, unless it returns -ECANCELED:
 * then the transaction is lost, and xend() says why; a body of xac_run() just returns it. Outside, -ECANCELED is never
 * returned, but the reason itself.
 *
 * Keys have 1 to BPTREE_KEY_MAX bytes and are ordered as memcmp() orders them (a key before its extensions), or by
 * the tree's comparison. Values have 0 to BPTREE_VALUE_MAX bytes; those longer than a quarter page, or too long for
 * half a page together with their key, lie in overflow pages.
 *
 * What is not a tree at all, or another one's page, is noticed (XAC_CORRUPT); the records inside of a page are taken
 * as they are. A file that may have been damaged is first asked by bptree_check(), which any bytes may be given.
 *
 * A bptree and its cursors belong to one thread, which has one bptree open for each tree: a cursor keeps its place
 * when records are put or deleted through the very bptree that it was opened on.
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/page_arena.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        BPTREE_KEY_MAX = 1024,
        BPTREE_NAME_MAX = 255,
        BPTREE_FIXED_VALUE_MAX = 256, /* bptree_options.value_bytes */
        BPTREE_VALUE_MAX = 1 << 30
};

enum bptree_flags {
        BPTREE_CREATE = 1,     /* bptree_open: create the tree if there is none */
        BPTREE_EXCL = 2,       /* with BPTREE_CREATE: -EEXIST if there is one */
        BPTREE_NOOVERWRITE = 4 /* bptree_put: -EEXIST if the key is there */
};

enum bptree_seek {
        BPTREE_GE, /* the first record whose key is at least the one given */
        BPTREE_LE, /* the last one whose key is at most that */
        BPTREE_EQ
};

typedef struct bptree bptree;
typedef struct bptree_cursor bptree_cursor;

/* Negative, 0 or positive, as memcmp(); must order all keys, and equal keys must have equal bytes. */
typedef int (*bptree_compare)(void *arg, const void *a, size_t a_len, const void *b, size_t b_len);

/* A zeroed field means its default. All but the comparison is recorded at creation. */
typedef struct bptree_options {
        /* 8: every key has exactly 8 bytes, and every value exactly value_bytes (0 to BPTREE_FIXED_VALUE_MAX): denser
         * and faster. 0: any lengths; value_bytes is 0 then. */
        uint32_t key_bytes;
        uint32_t value_bytes;
        bptree_compare compare; /* NULL: memcmp; with key_bytes always. At each open the same */
        void *compare_arg;
} bptree_options;

/* One record of a tree. The pointers are into its pages: good until the transaction ends, or a call changes the tree.
 */
typedef struct bptree_record {
        const void *key;
        size_t key_len;
        const void *value; /* NULL: in overflow pages, to be read by bptree_cursor_read() */
        size_t value_len;
} bptree_record;

typedef struct bptree_stats {
        uint64_t records;
        uint64_t depth; /* levels; 1: the root is a leaf */
        uint64_t leaf_pages, inner_pages, overflow_pages;
        uint64_t leaf_bytes_used; /* of records in leaf pages */
} bptree_stats;

typedef struct bptree_report {
        uint64_t trees, records, pages, free_pages; /* that were found */
        uint64_t unordered_trees; /* whose order is not checked: their comparison is unknown, no bptree being open */
        uint64_t page_no;         /* of the first thing wrong */
        char message[160];        /* what it is; empty: nothing */
} bptree_report;

/* Opens the tree of this name (not empty, without NUL); NULL options: any, or the defaults at creation.
 * -ENOENT, -EEXIST, -EINVAL (name, flags, options that the tree was not made with), -ENOMEM, and the errors of
 * transactions and of growing the file. */
int bptree_open(page_arena *arena, const char *name, int flags, const bptree_options *options, bptree **tree);
void bptree_close(bptree *tree);
/* Removes a tree and frees its pages. Others that have it open get -ESTALE from then on. */
int bptree_drop(page_arena *arena, const char *name);
/* The names of all trees in order; a visit that returns another value than 0 ends it and is returned. */
int bptree_names(page_arena *arena, int (*visit)(void *arg, const char *name), void *arg);

/* Inserts or replaces. -EEXIST (BPTREE_NOOVERWRITE), -EINVAL (lengths), -ESTALE (dropped), -ENOSPC, -ENOMEM. */
int bptree_put(bptree *tree, const void *key, size_t key_len, const void *value, size_t value_len, int flags);
/* Copies the value out. *value_len, unless NULL, is its whole length; -ERANGE: longer than `room`, which then holds its
 * beginning. -ENOENT. */
int bptree_get(bptree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
/* -ENOENT. */
int bptree_delete(bptree *tree, const void *key, size_t key_len);

/* Visits the records from `from` up to, not including, `to` (NULL: from the first, to the last); a visit that returns
 * another value than 0 ends it and is returned. The visit must not change the tree. Outside a transaction it is one
 * that is read-only, so that each record is visited once. */
int bptree_scan(bptree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                int (*visit)(void *arg, const bptree_record *record), void *arg);
/* The same for records of fixed size (key_bytes 8), many at a time: `records` has `count` of them in order, each its
 * key and then its value, 8 + value_bytes bytes, side by side. Good until the visit returns. Other trees: -EINVAL. */
int bptree_scan_runs(bptree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                     int (*visit)(void *arg, const void *records, size_t count), void *arg);

/* A leaf as the bytes of one page, wherever that was copied to. */
typedef struct bptree_leaf {
        const void *page;
        uint32_t page_bytes;
        uint32_t count;         /* records */
        uint32_t tree_id;       /* of its tree: no two trees of an arena have the same */
        bptree_options options; /* of its tree */
} bptree_leaf;

/* Judges page_bytes bytes, which may be anything and begin at a multiple of 8, of a tree with these options (NULL: the
 * defaults). 0: they are a leaf whose records are in order and can be read without leaving the page, for as long as
 * nobody changes them. XAC_CORRUPT: they are not. -EINVAL: no tree has such options, or pages of this size. */
int bptree_leaf_open(const void *page, uint32_t page_bytes, const bptree_options *options, bptree_leaf *leaf);
/* The record at `index`, less than leaf->count, in the page. Those of fixed size (key_bytes 8) lie side by side, as
 * bptree_scan_runs() shows them. A value in overflow pages (NULL) is not at hand. */
void bptree_leaf_record(const bptree_leaf *leaf, uint32_t index, bptree_record *record);
/* The index of the first record whose key is not less; leaf->count: all are. A key that cannot be in such a tree by its
 * length is compared all the same. */
uint32_t bptree_leaf_find(const bptree_leaf *leaf, const void *key, size_t key_len);
/* How many records from `at` of one leaf on are those from `other_at` of the other one on, byte by byte: of two
 * versions of a page, of the same tree. Each index is at most the leaf's count. A value in overflow pages is like no
 * other. */
uint32_t bptree_leaf_common(const bptree_leaf *one, uint32_t at, const bptree_leaf *other, uint32_t other_at);

typedef struct bptree_leaf_view {
        bptree_leaf leaf;    /* where it lies: good until the transaction ends, or a call changes the tree */
        uint64_t page_no;    /* in the arena */
        uint32_t first, end; /* its records within the range: [first, end); there may be none */
} bptree_leaf_view;

/* Visits the leaves where records of the range are or would be, in the order of the keys, as bptree_scan() does. Each
 * key of the range belongs into exactly one of them; the first and the last may have others, too. */
int bptree_scan_leaves(bptree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                       int (*visit)(void *arg, const bptree_leaf_view *view), void *arg);

/* Appends records, in ascending order and beyond the last one there is, in pages as full as can be. `next` fills in a
 * record and returns 1, or 0 at the end, or a negative number, which is returned. -EINVAL (order, lengths). All in
 * one transaction; outside of one it is tried once, as `next` cannot start anew: XAC_CONFLICT. */
int bptree_load(bptree *tree, int (*next)(void *arg, bptree_record *record), void *arg);

/* Cursors. Opened nowhere in particular (-EINVAL until they were moved). They are used inside one transaction, and may
 * be used outside: then each call is a transaction of its own, and the cursor finds its place again by its key, or the
 * next one. One that was placed in a transaction that has ended: -ESTALE until it is placed anew. */
int bptree_cursor_open(bptree *tree, bptree_cursor **cursor);
void bptree_cursor_close(bptree_cursor *cursor);
/* Each: 0, or -ENOENT when there is no such record; the cursor stays where it was then. */
int bptree_cursor_first(bptree_cursor *cursor);
int bptree_cursor_last(bptree_cursor *cursor);
int bptree_cursor_seek(bptree_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how);
int bptree_cursor_next(bptree_cursor *cursor);
int bptree_cursor_previous(bptree_cursor *cursor);
/* The record it stands on: inside a transaction. Outside: a key that the cursor keeps until it moves, and no value. */
int bptree_cursor_record(bptree_cursor *cursor, bptree_record *record);
/* Copies bytes of its value from `offset` on; *len is how many there were, up to `room`. */
int bptree_cursor_read(bptree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len);
/* Deletes that record; the cursor stands between its neighbours then: next and previous go on. */
int bptree_cursor_delete(bptree_cursor *cursor);

/* Walks the whole tree: takes as long as reading it. */
int bptree_stat(bptree *tree, bptree_stats *stats);
/* Checks every page of the arena: order, bounds, fill, reachability, free pages. XAC_CORRUPT: report->message says
 * what and report->page_no where. */
int bptree_check(page_arena *arena, bptree_report *report);

#ifdef __cplusplus
}
#endif

#endif
