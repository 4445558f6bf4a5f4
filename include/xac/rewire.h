/* SPDX-License-Identifier: MIT */
#ifndef XAC_REWIRE_H
#define XAC_REWIRE_H

/*
 * Rewired memory: physical pages have numbers that a program knows, and virtual pages are pointed at them at will.
 *
 *         xac_rewire_pool_create(NULL, &pool);
 *         xac_rewire_pool_take(pool, 2, &page);                // two pages, one behind the other
 *         xac_rewire_area_create(pool, 1024, 0, &area);        // addresses for 1,024 pages
 *         xac_rewire_area_map(area, 0, page + 1, 1);           // its first two show them the other way round
 *         xac_rewire_area_map(area, 1, page, 1);
 *         char *bytes = xac_rewire_area_address(area);
 *
 * Data move without being copied, and a page may be seen in several places. libxac's pool and views are made of this.
 * It knows nothing of transactions or files: pools are memory of one process.
 *
 * Each run of an area whose pages are not neighbours in the pool is a mapping of the kernel's, of which a process may
 * have 65,530 (vm.max_map_count). Areas, and the views of libxac, take half of them; then a call that needs more is
 * refused (-EMLINK), and nothing has changed. So pages that will be neighbours are best taken together.
 *
 * To point a page of 4 KiB elsewhere and touch it takes some microseconds, to copy it some tenths: rewiring pays with
 * pages of 2 MiB, with long runs, or where page tables are moved (xac_rewire_area_move).
 *
 * All functions return 0 or a negative number of <errno.h>. The idea is that of F. M. Schuhknecht, J. Dittrich and
 * A. Sharma (RUMA has it: Rewired User-space Memory Access is Possible!, PVLDB 9(10), 2016).
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pools: physical pages ---- */

typedef struct xac_rewire_pool xac_rewire_pool;

#define XAC_REWIRE_HUGE_BYTES ((size_t)2 << 20)

typedef struct xac_rewire_pool_options {
        uint32_t page_bytes;  /* 4096, or XAC_REWIRE_HUGE_BYTES; 0: 4096 */
        uint64_t max_bytes;   /* ceiling; 0: as much as the machine's memory */
        uint64_t ahead_bytes; /* so much gets memory at once, and is touched; 0: 2 MiB */
        int collapse;         /* of small pages: where 2 MiB get memory at once, the kernel is asked for a huge page */
        uint64_t reserved[4]; /* for options to come: zero */
} xac_rewire_pool_options;

/* What pages of XAC_REWIRE_HUGE_BYTES are made of, and small ones with `collapse` lie in. */
enum xac_rewire_backing {
        XAC_REWIRE_SMALL,  /* of the system's pages: it had no others, or small ones were wanted */
        XAC_REWIRE_HUGE,   /* of huge pages, as far as the kernel could make them (huge_pages) */
        XAC_REWIRE_HUGETLB /* of huge pages that were reserved for the whole pool */
};

typedef struct xac_rewire_pool_stats {
        uint32_t page_bytes;
        uint32_t backing; /* enum xac_rewire_backing */
        uint64_t pages;   /* that have memory; of these */
        uint64_t taken_pages;
        uint64_t huge_pages; /* that are, or lie in, a huge page of the kernel's; at most, after
                                xac_rewire_pool_shrink() */
        uint64_t max_pages;
        uint64_t areas;
        uint64_t reserved[4]; /* for figures to come: zero */
} xac_rewire_pool_stats;

/* NULL: the defaults. -EINVAL: no such size of pages; -ENOMEM, -EMFILE. */
int xac_rewire_pool_create(const xac_rewire_pool_options *options, xac_rewire_pool **pool);
/* -EBUSY: areas are left. NULL does nothing. */
int xac_rewire_pool_destroy(xac_rewire_pool *pool);

/* `count` pages one behind the other, of which *first is the first. They hold zeros, or what they held when they were
 * given back. Any thread may call this and the following. -ENOSPC: the ceiling is reached, or no such run is free
 * below it; -ENOMEM: the machine has no more; -EINVAL: count is 0. */
int xac_rewire_pool_take(xac_rewire_pool *pool, uint64_t count, uint64_t *first);
/* They may be given back in other parts than they were taken. Areas that show them go on showing them. -EINVAL: one of
 * them was not taken (then none is given back). */
int xac_rewire_pool_give(xac_rewire_pool *pool, uint64_t first, uint64_t count);
/* Gives memory to so many pages that nobody has taken, and touches them. -ENOSPC, -ENOMEM: some may have got it. */
int xac_rewire_pool_grow(xac_rewire_pool *pool, uint64_t count);
/* Gives back the memory of pages that nobody has taken, but for so many. */
int xac_rewire_pool_shrink(xac_rewire_pool *pool, uint64_t keep);
/* Where the pool itself shows a page, writable, for ever; neighbours in number are neighbours there. */
void *xac_rewire_pool_page(const xac_rewire_pool *pool, uint64_t page);
void xac_rewire_pool_stat(xac_rewire_pool *pool, xac_rewire_pool_stats *stats);

/* ---- areas: addresses ---- */

typedef struct xac_rewire_area xac_rewire_area;

enum {
        XAC_REWIRE_READ_ONLY = 1, /* stores end in SIGSEGV, unless xac_rewire_area_protect() allows them */
        XAC_REWIRE_PRIVATE = 2    /* a page is copied when it is first stored to, into memory that is not the pool's */
};

#define XAC_REWIRE_NONE UINT64_MAX

/* Addresses for so many pages, aligned to 2 MiB; none shows anything yet. One thread at a time may change an area,
 * while others may use what it shows. -EINVAL, -ENOMEM. */
int xac_rewire_area_create(xac_rewire_pool *pool, uint64_t pages, int flags, xac_rewire_area **area);
/* The pages that it showed are still taken. NULL does nothing. */
void xac_rewire_area_destroy(xac_rewire_area *area);
void *xac_rewire_area_address(const xac_rewire_area *area);

/* Places [at, at + count) show pages [page, page + count) from now on: one call of the kernel's. -EINVAL: beyond the
 * area's or the pool's end; -EMLINK: too many mappings; -ENOMEM. */
int xac_rewire_area_map(xac_rewire_area *area, uint64_t at, uint64_t page, uint64_t count);
/* The same with pages[0 .. count - 1]: one call for each run of neighbours. After -ENOMEM some may be shown. */
int xac_rewire_area_map_each(xac_rewire_area *area, uint64_t at, const uint64_t *pages, uint64_t count);
/* The same as xac_rewire_area_map() with what the pool's own addresses (xac_rewire_pool_page) have of these pages in
 * the page tables: what the pool has touched is not faulted in here, but there, at the next access. -EINVAL: the area
 * is private or read-only. */
int xac_rewire_area_map_touched(xac_rewire_area *area, uint64_t at, uint64_t page, uint64_t count);
/* They show nothing, and accesses end in SIGSEGV. */
int xac_rewire_area_unmap(xac_rewire_area *area, uint64_t at, uint64_t count);
/* Two ranges that do not overlap change what they show, with what was written to private pages, and who may access
 * them. After -ENOMEM a part of them may be swapped; -EMLINK: nothing is. */
int xac_rewire_area_swap(xac_rewire_area *area, uint64_t at, uint64_t with, uint64_t count);
/* What `from` showed at `at`, `to` shows at `where`, with what of it was in the page tables already: it is not faulted
 * in again. `from` shows nothing there any more; after -ENOMEM it shows the same as before, and `to` a part of it. Both
 * are areas of one pool; if they are the same, the ranges do not overlap. */
int xac_rewire_area_move(xac_rewire_area *from, uint64_t at, xac_rewire_area *to, uint64_t where, uint64_t count);
/* PROT_READ, PROT_READ | PROT_WRITE or PROT_NONE, until they are mapped again. */
int xac_rewire_area_protect(xac_rewire_area *area, uint64_t at, uint64_t count, int prot);
/* Puts what they show into the page tables, so that no first touch faults. */
int xac_rewire_area_populate(xac_rewire_area *area, uint64_t at, uint64_t count);

/* The page that is shown there, or XAC_REWIRE_NONE. */
uint64_t xac_rewire_area_page(const xac_rewire_area *area, uint64_t at);
/* Mappings of the kernel's that the area is made of. */
uint64_t xac_rewire_area_mappings(const xac_rewire_area *area);

#ifdef __cplusplus
}
#endif

#endif
