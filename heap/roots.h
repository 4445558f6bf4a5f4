/* SPDX-License-Identifier: MIT */
#ifndef HEAP_ROOTS_H
#define HEAP_ROOTS_H

/*
 * Objects with names: entries in a chain of pages. The first of them is page 2, and says where the heap was made, too.
 *
 *      | kind | entries | next page | base | name, offset, size, tag | name, ... |
 *
 * An entry without an offset is free.
 */

#include "heap/xac_heap.h"

struct root_entry {
        char name[XAC_HEAP_NAME_MAX + 1];
        uint64_t offset, size, tag;
};

struct roots_page {
        uint8_t kind; /* PAGE_IS_ROOTS */
        uint8_t zero[3];
        page_no next;  /* PAGE_NONE: it is the last */
        uint64_t base; /* where pointers into it are right; 0: it holds offsets */
        struct root_entry entry[];
};

/* The first page, of a heap whose pointers are right at `base`; NULL: it holds none. */
int roots_make(struct xac_heap *heap, const void *base);
/* -EADDRNOTAVAIL: its pointers lead elsewhere; XAC_CORRUPT. */
int roots_check_place(struct xac_heap *heap);

static inline uint32_t roots_per_page(const struct xac_heap *heap)
{
        return (heap->arena->page_bytes - (uint32_t)sizeof(struct roots_page)) / (uint32_t)sizeof(struct root_entry);
}

/* The page, if it is one of roots; NULL. */
const struct roots_page *roots_page_at(const struct xac_heap *heap, page_no page);

#endif
