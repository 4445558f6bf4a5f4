/* SPDX-License-Identifier: MIT */
#ifndef XAC_TREE_H
#define XAC_TREE_H

/*
 * Search structures in the pages of an arena: serial code that libxac makes concurrent and durable. There are three
 * kinds with one interface:
 *
 *         XAC_TREE_BPLUS     a B+-tree; take it unless you know better
 *         XAC_TREE_COBTREE   a cache-oblivious B-tree, for those who scan much
 *         XAC_TREE_HASH      a hash table, for those who look up whole keys
 *
 *         xac_arena *arena;
 *         xac_tree *words;
 *         xac_arena_open_env(env, "words", XAC_ARENA_DECLARED, &arena);
 *         xac_tree_open(arena, "english", XAC_TREE_CREATE, NULL, &words);
 *         xac_tree_put(words, "tree", 4, "Baum", 4, 0);
 *
 * docs/COBTREE.md and docs/REWIRED.md have the ideas of the second and the third, their sources, and figures.
 *
 * Each call joins the transaction that this thread has open, or runs one of its own (with retries, as
 * xac_run() does). Inside an open transaction a call that fails has changed nothing, unless it returns -ECANCELED:
 * then the transaction is lost, and xend() says why; a body of xac_run() just returns it. Outside, -ECANCELED is never
 * returned, but the reason itself. What a kind of tree cannot do is -EOPNOTSUPP.
 *
 * Keys have 1 to XAC_TREE_KEY_MAX bytes and are ordered as memcmp() orders them (a key before its extensions), or by
 * the tree's comparison. Values have 0 to XAC_TREE_VALUE_MAX bytes; those too long for half a page together with their
 * key, and in cache-oblivious B-trees and hash tables those longer than a quarter page, lie in overflow pages.
 *
 * What is not a tree at all, or another one's page, is noticed (XAC_CORRUPT); the records inside of a page are taken
 * as they are. A file that may have been damaged is first asked by xac_tree_check(), which any bytes may be given.
 *
 * An xac_tree and its cursors belong to one thread, which has one xac_tree open for each tree: a cursor keeps its place
 * when records are put or deleted through the very xac_tree that it was opened on.
 *
 * In a cache-oblivious B-tree records lie in a packed memory array, in which a scan runs from page to page as they lie;
 * a static index in van Emde Boas layout leads to them. It begins with 2 MiB of address space, and a put is a little
 * slower. One that needs much room runs, outside of a transaction, some transactions that move
 * pages before its own. Inside an open one all of that is part of it, so that a few puts may write some hundred pages.
 *
 * The hash table is one by extendible hashing: a lookup reads one bucket, a page, and the directory's first page;
 * nothing has to be rebuilt when it grows. Its records have an order, too, that of their keys' hash values, in which
 * scans and cursors go through all of them: it is random, another one in each table, and always the same in one table.
 * So a cursor that is used outside of transactions meets each record once that is there all the time, whatever else is
 * put and deleted meanwhile. The hash function is keyed with a random number of each table. It is no cryptographic one:
 * who can try out how long calls take may find keys that meet in a bucket, and more than a page of them that have their
 * first 63 bits in common cannot be stored (-ENOSPC).
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/arena.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        XAC_TREE_KEY_MAX = 1024,
        XAC_TREE_HASH_KEY_MAX = XAC_TREE_KEY_MAX - 8, /* of a hash table */
        XAC_TREE_NAME_MAX = 255,
        XAC_TREE_FIXED_VALUE_MAX = 256, /* xac_tree_options.value_bytes */
        XAC_TREE_VALUE_MAX = 1 << 30
};

enum xac_tree_kind { XAC_TREE_BPLUS = 1, XAC_TREE_COBTREE, XAC_TREE_HASH };

enum xac_tree_flags {
        XAC_TREE_CREATE = 1,      /* xac_tree_open: create the tree if there is none */
        XAC_TREE_EXCL = 2,        /* with XAC_TREE_CREATE: -EEXIST if there is one */
        XAC_TREE_NOOVERWRITE = 4, /* xac_tree_put: -EEXIST if the key is there */
        /* xac_tree_open, a hash table in an arena of xac_arena_open_rewired(): lookups may skip the directory, */
        XAC_TREE_SHORTCUT = 8,        /* where that is found to be faster, */
        XAC_TREE_SHORTCUT_ALWAYS = 16 /* or in any case */
};

enum xac_tree_seek {
        XAC_TREE_GE, /* the first record whose key is at least the one given */
        XAC_TREE_LE, /* the last one whose key is at most that */
        XAC_TREE_EQ  /* of a hash table only this */
};

typedef struct xac_tree xac_tree;
typedef struct xac_tree_cursor xac_tree_cursor;

/* Negative, 0 or positive, as memcmp(); must order all keys, and equal keys must have equal bytes. */
typedef int (*xac_tree_compare)(void *arg, const void *a, size_t a_len, const void *b, size_t b_len);

/* A zeroed field means its default. All but the comparison is recorded at creation. */
typedef struct xac_tree_options {
        /* 8: every key has exactly 8 bytes, and every value exactly value_bytes (0 to XAC_TREE_FIXED_VALUE_MAX): denser
         * and faster. 0: any lengths; value_bytes is 0 then. */
        uint32_t key_bytes;
        uint32_t value_bytes;
        xac_tree_compare compare; /* NULL: memcmp; with key_bytes, and of a hash table, always. At each open the same */
        void *compare_arg;
        uint32_t kind;        /* enum xac_tree_kind; 0: a B+-tree */
        uint32_t reserved[5]; /* zeros */
} xac_tree_options;

/* One record of a tree. The pointers are into its pages: good until the transaction ends, or a call changes the tree;
 * the key of a cursor's record in a hash table, until the cursor moves or is asked again. */
typedef struct xac_tree_record {
        const void *key;
        size_t key_len;
        const void *value; /* NULL: in overflow pages, to be read by xac_tree_cursor_read() */
        size_t value_len;
} xac_tree_record;

typedef struct xac_tree_stats {
        uint32_t kind;             /* enum xac_tree_kind */
        uint32_t shortcut_is_used; /* by lookups in a hash table, now: it is there, in step, and worth taking */
        uint64_t records;
        uint64_t depth; /* B+-tree: levels (1: the root is a leaf); hash table: bits of the hash value that tell buckets
                         * apart, at most; else 0 */
        uint64_t leaf_pages;  /* that hold records: leaves, segments in use, or buckets */
        uint64_t inner_pages; /* of the way to them: inner nodes, the index, or the directory */
        uint64_t overflow_pages;
        uint64_t leaf_bytes_used;   /* of records in leaf pages */
        uint64_t extents, segments; /* cache-oblivious B-tree: of the array, and places for leaf pages in all of them */
        uint64_t shortcut_mappings; /* with a shortcut: of the kernel's, when it was last in step */
        uint64_t reserved[4];       /* zeros */
} xac_tree_stats;

typedef struct xac_tree_report {
        uint64_t trees, records, pages, free_pages; /* that were found */
        uint64_t unordered_trees; /* whose order is not checked: their comparison is unknown, no xac_tree being open */
        uint64_t page_no;         /* of the first thing wrong */
        char message[160];        /* what it is; empty: nothing */
        uint64_t reserved[4];     /* for figures to come: zeros */
} xac_tree_report;

/* Opens the tree of this name (not empty, without NUL), which trees of all kinds share; NULL options: any tree that
 * is there, or the defaults at creation; with a shortcut, a hash table. -ENOENT, -EEXIST, -EINVAL (name, flags, options
 * that the tree was not made with), -ENOMEM, and the errors of transactions and of growing the file.
 *
 * XAC_TREE_SHORTCUT: a thread keeps a range of addresses in which the buckets are seen in the order of the directory,
 * so that the page table leads a lookup to its bucket. It works after the fact; until it is in step, and where the
 * kernel would need too many mappings, or the average bucket has more than eight slots, lookups go by the directory. So
 * they do where that is faster, which the thread tries out each time the directory has doubled (some milliseconds of
 * its time); XAC_TREE_SHORTCUT_ALWAYS does not ask. -EINVAL: the arena cannot be rewired; -EOPNOTSUPP: it is no hash
 * table; -EAGAIN: no thread could be started. */
int xac_tree_open(xac_arena *arena, const char *name, int flags, const xac_tree_options *options, xac_tree **tree);
void xac_tree_close(xac_tree *tree);
enum xac_tree_kind xac_tree_kind_of(const xac_tree *tree);
/* Removes a tree and frees its pages. Others that have it open get -ESTALE from then on. */
int xac_tree_drop(xac_arena *arena, const char *name);
/* The names of all trees in order; a visit that returns another value than 0 ends it and is returned. */
int xac_tree_names(xac_arena *arena, int (*visit)(void *arg, const char *name), void *arg);

/* Inserts or replaces. -EEXIST (XAC_TREE_NOOVERWRITE), -EINVAL (lengths), -ESTALE (dropped), -ENOSPC, -ENOMEM. */
int xac_tree_put(xac_tree *tree, const void *key, size_t key_len, const void *value, size_t value_len, int flags);
/* Copies the value out. *value_len, unless NULL, is its whole length; -ERANGE: longer than `room`, which then holds its
 * beginning. -ENOENT. */
int xac_tree_get(xac_tree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
/* -ENOENT. */
int xac_tree_delete(xac_tree *tree, const void *key, size_t key_len);

/* Visits the records from `from` up to, not including, `to` (NULL: from the first, to the last; of a hash table both);
 * a visit that returns another value than 0 ends it and is returned. The visit must not change the tree. Outside a
 * transaction it is one that is read-only, so that each record is visited once. */
int xac_tree_scan(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                  int (*visit)(void *arg, const xac_tree_record *record), void *arg);
/* The same for records of fixed size (key_bytes 8), many at a time: `records` has `count` of them in order, each its
 * key and then its value, 8 + value_bytes bytes, side by side. Good until the visit returns. Other trees: -EINVAL; hash
 * tables: -EOPNOTSUPP. */
int xac_tree_scan_runs(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                       int (*visit)(void *arg, const void *records, size_t count), void *arg);

/* Appends records, in ascending order and beyond the last one there is, in pages as full as can be. `next` fills in a
 * record and returns 1, or 0 at the end, or a negative number, which is returned. -EINVAL (order, lengths). All in
 * one transaction; outside of one it is tried once, as `next` cannot start anew: XAC_CONFLICT. Hash tables:
 * -EOPNOTSUPP. */
int xac_tree_load(xac_tree *tree, int (*next)(void *arg, xac_tree_record *record), void *arg);

/* Moves the buckets of a hash table into pages that are in the order of the directory, so that a shortcut of 65,536 and
 * more buckets needs few mappings of the kernel's. Takes as long as copying the table, and up to as much room again
 * meanwhile. For arenas of xac_arena_open_rewired(); others: -EINVAL. -ENOSPC, -ENOMEM: some have been moved. Other
 * trees: -EOPNOTSUPP. */
int xac_tree_arrange(xac_tree *tree);

/* Cursors. Opened nowhere in particular (-EINVAL until they were moved). They are used inside one transaction, and may
 * be used outside: then each call is a transaction of its own, and the cursor finds its place again by its key, or the
 * next one. One that was placed in a transaction that has ended: -ESTALE until it is placed anew. */
int xac_tree_cursor_open(xac_tree *tree, xac_tree_cursor **cursor);
void xac_tree_cursor_close(xac_tree_cursor *cursor);
/* Each: 0, or -ENOENT when there is no such record; the cursor stays where it was then. */
int xac_tree_cursor_first(xac_tree_cursor *cursor);
int xac_tree_cursor_last(xac_tree_cursor *cursor);
/* In a hash table -EOPNOTSUPP but for XAC_TREE_EQ. */
int xac_tree_cursor_seek(xac_tree_cursor *cursor, const void *key, size_t key_len, enum xac_tree_seek how);
int xac_tree_cursor_next(xac_tree_cursor *cursor);
int xac_tree_cursor_previous(xac_tree_cursor *cursor);
/* The record it stands on: inside a transaction. Outside: a key that the cursor keeps until it moves, and no value. */
int xac_tree_cursor_record(xac_tree_cursor *cursor, xac_tree_record *record);
/* Copies bytes of its value from `offset` on; *len is how many there were, up to `room`. */
int xac_tree_cursor_read(xac_tree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len);
/* Deletes that record; the cursor stands between its neighbours then: next and previous go on. */
int xac_tree_cursor_delete(xac_tree_cursor *cursor);

/* Walks the whole tree: takes as long as reading it. */
int xac_tree_stat(xac_tree *tree, xac_tree_stats *stats);
/* Checks every page of the arena: order, bounds, fill, reachability, free pages. XAC_CORRUPT: report->message says
 * what and report->page_no where. */
int xac_tree_check(xac_arena *arena, xac_tree_report *report);

/* A leaf of a B+-tree as the bytes of one page, wherever that was copied to. */
typedef struct xac_tree_leaf {
        const void *page;
        uint32_t page_bytes;
        uint32_t count;           /* records */
        uint32_t tree_id;         /* of its tree: no two trees of an arena have the same */
        xac_tree_options options; /* of its tree */
        uint64_t reserved[2];     /* zeros */
} xac_tree_leaf;

/* Judges page_bytes bytes, which may be anything and begin at a multiple of 8, of a B+-tree with these options (NULL:
 * the defaults). 0: they are a leaf whose records are in order and can be read without leaving the page, for as long as
 * nobody changes them. XAC_CORRUPT: they are not. -EINVAL: no tree has such options, or pages of this size. */
int xac_tree_leaf_open(const void *page, uint32_t page_bytes, const xac_tree_options *options, xac_tree_leaf *leaf);
/* The record at `index`, less than leaf->count, in the page. Those of fixed size (key_bytes 8) lie side by side, as
 * xac_tree_scan_runs() shows them. A value in overflow pages (NULL) is not at hand. */
void xac_tree_leaf_record(const xac_tree_leaf *leaf, uint32_t index, xac_tree_record *record);
/* The index of the first record whose key is not less; leaf->count: all are. A key that cannot be in such a tree by its
 * length is compared all the same. */
uint32_t xac_tree_leaf_find(const xac_tree_leaf *leaf, const void *key, size_t key_len);
/* How many records from `at` of one leaf on are those from `other_at` of the other one on, byte by byte: of two
 * versions of a page, of the same tree. Each index is at most the leaf's count. A value in overflow pages is like no
 * other. */
uint32_t xac_tree_leaf_common(const xac_tree_leaf *one, uint32_t at, const xac_tree_leaf *other, uint32_t other_at);

typedef struct xac_tree_leaf_view {
        xac_tree_leaf leaf;   /* where it lies: good until the transaction ends, or a call changes the tree */
        uint64_t page_no;     /* in the arena */
        uint32_t first, end;  /* its records within the range: [first, end); there may be none */
        uint64_t reserved[2]; /* zeros */
} xac_tree_leaf_view;

/* Visits the leaves of a B+-tree where records of the range are or would be, in the order of the keys, as
 * xac_tree_scan() does. Each key of the range belongs into exactly one of them; the first and the last may have others,
 * too. Other trees: -EOPNOTSUPP. */
int xac_tree_scan_leaves(xac_tree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                         int (*visit)(void *arg, const xac_tree_leaf_view *view), void *arg);

#ifdef __cplusplus
}
#endif

#endif
