/* SPDX-License-Identifier: MIT */
#ifndef XAC_EHASH_H
#define XAC_EHASH_H

/*
 * A hash table in the pages of an arena, by extendible hashing: the calls, outcomes and promises of <xac/bptree.h> on
 * a structure without order. A lookup reads one bucket, a page, and the directory's first page; nothing has to be
 * rebuilt when the table grows. docs/REWIRED.md has the idea, its sources, and figures beside others.
 *
 *         page_arena *arena;
 *         ehash *words;
 *         page_arena_open_env(env, "words", PAGE_ARENA_DECLARED, &arena);
 *         ehash_open(arena, "english", EHASH_CREATE, NULL, &words);
 *         ehash_put(words, "tree", 4, "Baum", 4, 0);
 *
 * Take it where records are looked up by their whole keys; ranges of keys want a B+-tree.
 *
 * Records have an order all the same, that of their keys' hash values, in which cursors go through all of them: it is
 * random, another one in each table, and always the same in one table. So a cursor that is used outside of transactions
 * meets each record once that is there all the time, whatever else is put and deleted meanwhile.
 *
 * The hash function is keyed with a random number of each table. It is no cryptographic one: who can try out how long
 * calls take may find keys that meet in a bucket, and more than a page of them that have their first 63 bits in common
 * cannot be stored (-ENOSPC).
 */

#include <xac/bptree.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EHASH_KEY_MAX = BPTREE_KEY_MAX - 8, EHASH_VALUE_MAX = BPTREE_VALUE_MAX };

enum ehash_flags {
        EHASH_CREATE = BPTREE_CREATE,
        EHASH_EXCL = BPTREE_EXCL,
        EHASH_NOOVERWRITE = BPTREE_NOOVERWRITE,
        /* ehash_open, in an arena of page_arena_open_rewired(): lookups may skip the directory, */
        EHASH_SHORTCUT = 8,        /* where that is found to be faster, */
        EHASH_SHORTCUT_ALWAYS = 16 /* or in any case */
};

typedef struct ehash ehash;
typedef struct ehash_cursor ehash_cursor;

/* Zeroed fields mean the defaults; both are recorded at creation. */
typedef struct ehash_options {
        /* 8: every key has exactly 8 bytes, and every value exactly value_bytes (0 to BPTREE_FIXED_VALUE_MAX): denser
         * and faster. 0: any lengths; value_bytes is 0 then. */
        uint32_t key_bytes;
        uint32_t value_bytes;
} ehash_options;

/* The B+-tree's records and reports. Tables share the names of an arena with trees: the name of a tree is -EINVAL.
 * bptree_drop(), bptree_names() and bptree_check() serve them, too. */
typedef bptree_record ehash_record;

typedef struct ehash_stats {
        uint64_t records;
        uint64_t depth; /* bits of the hash value that tell buckets apart, at most */
        uint64_t buckets, directory_pages, overflow_pages;
        uint64_t bucket_bytes_used; /* of records in buckets */
        uint64_t shortcut_mappings; /* with a shortcut: of the kernel's, when it was last in step */
        int shortcut_is_used;       /* by lookups now: it is there, in step, and worth taking */
} ehash_stats;

/* NULL options: any, or the defaults at creation. Errors are bptree_open()'s; with a shortcut -EINVAL: the arena
 * cannot be rewired; -EAGAIN: no thread could be started.
 *
 * EHASH_SHORTCUT: a thread keeps a range of addresses in which the buckets are seen in the order of the directory, so
 * that the page table leads a lookup to its bucket. It works after the fact; until it is in step, and where the kernel
 * would need too many mappings, or the average bucket has more than eight slots, lookups go by the directory. So they
 * do where that is faster, which the thread tries out each time the directory has doubled (some milliseconds of its
 * time); EHASH_SHORTCUT_ALWAYS does not ask. */
int ehash_open(page_arena *arena, const char *name, int flags, const ehash_options *options, ehash **table);
void ehash_close(ehash *table);

int ehash_put(ehash *table, const void *key, size_t key_len, const void *value, size_t value_len, int flags);
int ehash_get(ehash *table, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
int ehash_delete(ehash *table, const void *key, size_t key_len);

/* Visits all records; a visit that returns another value than 0 ends it and is returned. The visit must not change the
 * table. Outside a transaction it is one that is read-only. */
int ehash_scan(ehash *table, int (*visit)(void *arg, const ehash_record *record), void *arg);

/* Cursors, as the B+-tree's; the key of a record is good until the cursor moves, or is asked again. */
int ehash_cursor_open(ehash *table, ehash_cursor **cursor);
void ehash_cursor_close(ehash_cursor *cursor);
int ehash_cursor_first(ehash_cursor *cursor);
int ehash_cursor_last(ehash_cursor *cursor);
/* To the record of this key. -ENOENT: there is none. */
int ehash_cursor_seek(ehash_cursor *cursor, const void *key, size_t key_len);
int ehash_cursor_next(ehash_cursor *cursor);
int ehash_cursor_previous(ehash_cursor *cursor);
int ehash_cursor_record(ehash_cursor *cursor, ehash_record *record);
int ehash_cursor_read(ehash_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len);
int ehash_cursor_delete(ehash_cursor *cursor);

/* Moves the buckets into pages that are in the order of the directory, so that a shortcut of 65,536 and more buckets
 * needs few mappings of the kernel's. Takes as long as copying the table, and up to as much room again meanwhile. For
 * arenas of page_arena_open_rewired(); others: -EINVAL. -ENOSPC, -ENOMEM: some have been moved. */
int ehash_arrange(ehash *table);

/* Walks the whole table: takes as long as reading it. */
int ehash_stat(ehash *table, ehash_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
