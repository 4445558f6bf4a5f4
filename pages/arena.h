/* SPDX-License-Identifier: MIT */
#ifndef PAGES_ARENA_H
#define PAGES_ARENA_H

/*
 * The way in: how the pages of an arena are reached. This header, arena.c and page_run.c are the only files
 * of pages/ and trees/ that know of transactions; everything else is serial code (trees/README.md counts the lines).
 *
 *      arena_read     a page as the transaction sees it: valid until the transaction ends
 *      arena_write    the same page, to be changed: valid until the transaction ends. What was read before may
 *                     be an older version of it by then, and is not to be used any more
 *
 *      arena_move     a page takes the place of another
 *
 * The first two return NULL only in declared access, when the transaction is lost. Then callers return ARENA_LOST at
 * once, and use no page any more. By translation a lost transaction goes on to its end, on what it sees.
 *
 * The pages come in groups of GROUP_PAGES. The first of each group is its map, which says which are free
 * (page_group.h). Two more of group 0 have a fixed place:
 *
 *      0        map of group 0
 *      1        the arena's header
 *      2        root of the catalog, a tree from the names of trees to what they are (bptree_catalog.h)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/arena.h>
#include <xac/rewire.h>
#include <xac/translate.h>

typedef uint32_t page_no; /* less than 2^28, as in data files: 1 TiB of the smallest pages */

enum { PAGE_NONE = 0, PAGE_HEADER = 1, PAGE_CATALOG = 2, PAGES_FIXED = 3, GROUP_PAGES = 512 };

#define NO_GROUP UINT32_MAX

/* Internal outcome: the transaction cannot go on. Callers outside get the reason from xend, or -ECANCELED. */
enum { ARENA_LOST = -4095 };

/* What a page is: its first byte, so that a page that is not what a pointer to it says is noticed. */
enum page_kind {
        PAGE_FRESH = 0, /* never written */
        PAGE_IS_MAP = 1,
        PAGE_IS_HEADER = 2,
        PAGE_IS_LEAF = 3,
        PAGE_IS_INNER = 4,
        PAGE_IS_OVERFLOW = 5,
        PAGE_IS_COBTREE = 6, /* root */
        PAGE_IS_INDEX = 7,
        PAGE_IS_SLAB = 8,
        PAGE_IS_ROOTS = 9,
        PAGE_IS_DIRECTORY = 10, /* of a hash table */
        PAGE_IS_ROOTS_TOP = 11,
        PAGE_IS_ROOTS_NODE = 12,
        PAGE_IS_ROOTS_BUCKET = 13
};

/* How the pages are reached. */
enum arena_way {
        ARENA_PLAIN,
        ARENA_VIEW = XAC_ARENA_VIEW,
        ARENA_DECLARED = XAC_ARENA_DECLARED,
        ARENA_TRANSLATED,
        ARENA_SNAPSHOT
};

struct xac_tree;

struct xac_arena {
        char *base; /* page n is at base + n * page_bytes; NULL: of a snapshot */
        uint32_t page_shift;
        uint32_t page_bytes;
        enum arena_way way;
        xac_env *env;           /* NULL: plain, or of a snapshot */
        xac_snapshot *snapshot; /* then nothing can be written; */
        uint32_t file_no;       /* of the file there */
        int fd;                 /* plain file, else -1 */
        xac_rewire_pool *pool;  /* plain and rewired: page n is its page n; else NULL */
        uint64_t max_bytes;     /* plain: the address space reserved */
        uint64_t byte_len;      /* as far as this arena knows; may have grown meanwhile */
        char *file;             /* name in the environment */
        int map_flags;          /* of the view, there */
        uint64_t magic;         /* whose pages these are: in the arena's header */
        uint32_t own_group;     /* page_group: where this arena takes pages; NO_GROUP */
        uint64_t token;         /* page_group: what it writes into the map of its own group */
        uint64_t random;        /* page_group: where it looks next */
        struct xac_tree *trees; /* that are open, of all kinds */
};

/* ---- arena.c ---- */

#define ARENA_MAGIC_TREES UINT64_C(0x3165657274636178) /* "xactree1" */

/* Opening by steps: first this; then the caller fills in where it lies. */
int arena_new(uint32_t page_bytes, enum arena_way way, xac_arena **made);
/* The last step, unless one before it has failed (err): looks whether the pages are an arena's. Page 0 is there. A
 * failure frees it. */
int arena_open(xac_arena **arena, int err);
/* Lets go of what it owns, and closes it. No transaction is open. */
void arena_close(xac_arena *arena);

/* ---- page_run.c ---- */

/* Makes sure that the arena has so many pages; not undone by an abort. -ENOSPC, -ENOMEM, errors of xac_mmap. */
int arena_grow(struct xac_arena *arena, uint64_t pages);
/* Makes it exactly as long as that, which is more than it knows of. The same errors. */
int arena_extend(struct xac_arena *arena, uint64_t byte_len);

/* splitmix64 (G. Steele et al., OOPSLA 2014) */
static inline uint64_t arena_random(struct xac_arena *arena)
{
        uint64_t mixed = arena->random += UINT64_C(0x9e3779b97f4a7c15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        return mixed ^ mixed >> 31;
}

/* What this thread sees is the same as long as this number is: it changes with each begin, end and abort of a
 * level. 0: no transaction is open. Without an environment: always 1. */
static inline uint64_t arena_txn(const struct xac_arena *arena)
{
        return arena->env ? xac_txn_id(arena->env) : 1;
}

static inline const void *arena_read(const struct xac_arena *arena, page_no page)
{
        if (arena->snapshot) /* it has no base */
                return xac_snapshot_page(arena->snapshot, arena->file_no, page);
        const char *addr = arena->base + ((uint64_t)page << arena->page_shift);
        return arena->way == ARENA_DECLARED     ? xac_page_read(arena->env, addr)
               : arena->way == ARENA_TRANSLATED ? xac_for_read(addr)
                                                : addr;
}

/* The page will be read soon. False: there is no need to say so, here and of others in this transaction. */
static inline bool arena_expect(const struct xac_arena *arena, page_no page)
{
        if (arena->snapshot) /* it has no base */
                return false;
        const size_t page_bytes = (size_t)1 << arena->page_shift;
        const char *addr = arena->base + page * page_bytes;
        return arena->env ? xac_advise(arena->env, addr, page_bytes, XAC_WILLNEED) > 0 : false;
}

static inline void *arena_write(const struct xac_arena *arena, page_no page)
{
        char *addr = arena->base + ((uint64_t)page << arena->page_shift);
        return arena->way == ARENA_DECLARED     ? xac_page_write(arena->env, addr)
               : arena->way == ARENA_TRANSLATED ? xac_for_write(addr)
                                                : addr;
}

/* A page takes the place of another, of which nothing is kept. Where it was is a fresh page, at least by its first 64
 * bytes. What was read of either is not to be used any more. In an environment nothing is copied. ARENA_LOST. */
int arena_move(const struct xac_arena *arena, page_no to, page_no from);

/* Makes a page zeros, and gives back what it takes. In a transaction the checkpoint does the latter. ARENA_LOST. */
int arena_clear(const struct xac_arena *arena, page_no page);

/* Runs the body in the open transaction, or in one of its own with these flags, repeated on conflicts. ARENA_LOST from
 * the body becomes -ECANCELED inside a transaction, and outside the reason; any other result is returned. XAC_WROTE:
 * it may write (flags), and nothing can be written. A body that
 * fails inside a transaction has changed nothing yet: nothing is undone there. */
int arena_run(struct xac_arena *arena, int flags, int (*body)(void *arg), void *arg);
/* The same, tried once; inside a transaction in a level of its own, so that a failure is undone (in plain arenas
 * nothing ever is). */
int arena_run_once(struct xac_arena *arena, int flags, int (*body)(void *arg), void *arg);

#endif
