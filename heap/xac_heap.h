/* SPDX-License-Identifier: MIT */
#ifndef HEAP_XAC_HEAP_H
#define HEAP_XAC_HEAP_H

/*
 * A heap: what a thread knows of it, and how its pages are labelled. Serial code over an arena of pages (pages/), which
 * it reaches by translation (<xac/translate.h>): without faults, and in a lost transaction to its end.
 *
 *      size_class, slab   one page of objects of one size, as bytes
 *      small              objects up to half a page: who takes them from which slab
 *      run                larger ones: pages side by side
 *      objects            objects of any size
 *      roots_tree         names and places, by hash
 *      roots_chain        as they were in older heaps: one after the other
 *      roots              objects with names
 *      malloc             malloc and its kin, each in the open transaction or one of its own
 *      opening            and closing
 *      check              every byte accounted for
 *
 *      group g   | map and labels | page | page | ...            of 512 pages (pages/page_alloc.h)
 *      group 0   | map and labels | header | first page of roots | page | ...
 *
 * K1  Whatever is written, is written in the transaction. What a thread keeps for itself (its bins) are hints, which it
 *     compares with the page before it follows them: an abort, or others, may have made them wrong.
 * K2  Only a slab's owner takes objects from it. A free writes the object's page, and no other, but when the slab has
 *     become empty or the object was a run.
 * K3  A page has a label if, and only if, it is taken; what it is stands there, and in the page.
 * K4  Objects that are roots are marked: their slab counts them, a run has another label. So a free of others looks for
 *     no name. Roots that are a chain have no marks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/heap.h>

#include "heap/size_class.h"
#include "pages/page_alloc.h"
#include "pages/page_map.h"

enum label {
        LABEL_NONE = 0,
        LABEL_RUN = 1,        /* the first page of a larger object */
        LABEL_REST = 2,       /* its others */
        LABEL_ROOTS = 3,      /* a page of roots, but the first */
        LABEL_SLAB = 4,       /* and the size class */
        LABEL_NAMED_RUN = 255 /* as LABEL_RUN; the object is a root */
};

/* The first page of a group: whether a page is free, and what it is else. */
struct heap_map {
        struct group_map pages;
        uint8_t label[GROUP_PAGES];
};

enum { BIN_PAGES = 32, GROUPS_KEPT = 1024 };

/* Pages of one class that this thread takes objects from, it believes: the one on top first. When it is full the oldest
 * is forgotten. */
struct bin {
        uint32_t top, count;
        page_no page[BIN_PAGES];
};

struct xac_heap {
        struct xac_arena *arena;
        uint64_t self;      /* what its slabs say who their owner is */
        bool was_chained;   /* the roots were a chain, without marks on their objects, when it was opened; */
        uint32_t listing;   /* calls of xac_heap_root_list() that go on: the chain stays one */
        uint32_t forgotten; /* pages with room that fell out of a bin since the last look at all */
        uint32_t cursor;    /* where the next look goes on: a place in `group` */
        uint32_t page;      /* and a page of that group */
        uint32_t group_count;
        uint32_t group[GROUPS_KEPT]; /* that it took pages from last, in a ring */
        struct size_classes classes;
        struct bin bin[SIZE_CLASSES_MAX];
};

/* Labels `count` pages of one group, the first differently. -EIO: the map is damaged. */
int heap_label(struct xac_heap *heap, page_no first, size_t count, uint8_t first_label, uint8_t label);

/* What the page is labelled; LABEL_NONE inside of an object of several groups, where no map is. The page can be
 * reached.
 */
uint8_t heap_label_of(const struct xac_heap *heap, page_no page);

static inline void *heap_address(const struct xac_heap *heap, page_no page, uint32_t at)
{
        return heap->arena->base + ((uint64_t)page << heap->arena->page_shift) + at;
}

static inline page_no heap_page_of(const struct xac_heap *heap, const void *object)
{
        return (page_no)((uint64_t)((const char *)object - heap->arena->base) >> heap->arena->page_shift);
}

/* Bytes from the beginning of its page. */
static inline uint32_t heap_within(const struct xac_heap *heap, const void *object)
{
        return (uint32_t)((uint64_t)((const char *)object - heap->arena->base) & (heap->arena->page_bytes - 1));
}

/* Ends the program: the object is none. */
_Noreturn void heap_refuse(const void *object, const char *why);

#endif
