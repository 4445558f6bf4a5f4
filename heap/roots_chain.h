/* SPDX-License-Identifier: MIT */
#ifndef HEAP_ROOTS_CHAIN_H
#define HEAP_ROOTS_CHAIN_H

/*
 * The roots of an older heap: entries in a chain of pages, of which page 2 is the first. They are read as they are, and
 * become trees (roots_tree.h) when one is added.
 *
 *      | kind | next page | base | name, offset, size, tag | name, ... |
 *
 * An entry without an offset is free.
 */

#include "heap/roots_tree.h"

struct roots_page {
        uint8_t kind; /* PAGE_IS_ROOTS */
        uint8_t zero[3];
        page_no next;  /* PAGE_NONE: it is the last */
        uint64_t base; /* as roots_top has it */
        struct root_entry entry[];
};

/* Where an entry stands. */
struct chain_spot {
        page_no page;
        uint32_t at;
};

static inline uint32_t chain_per_page(const struct xac_heap *heap)
{
        return (heap->arena->page_bytes - (uint32_t)sizeof(struct roots_page)) / (uint32_t)sizeof(struct root_entry);
}

/* The page, if it is one of the chain; NULL. */
const struct roots_page *chain_page_at(const struct xac_heap *heap, page_no page);
static inline bool chain_is_there(const struct xac_heap *heap)
{
        return chain_page_at(heap, PAGE_CATALOG) != NULL;
}

/* Calls for each entry, until one returns other than 0, which is returned. It may write entries. XAC_CORRUPT: the chain
 * is none, or a circle. */
typedef int (*chain_each)(void *arg, struct chain_spot spot, const struct root_entry *entry);
int chain_walk(const struct xac_heap *heap, chain_each each, void *arg);
/* That name's; that object's. -ENOENT, XAC_CORRUPT. */
int chain_find(const struct xac_heap *heap, const char *name, struct chain_spot *found);
int chain_find_place(const struct xac_heap *heap, uint64_t offset, struct chain_spot *found);
const struct root_entry *chain_at(const struct xac_heap *heap, struct chain_spot spot);
/* A free entry; a page is added if there is none. -ENOSPC, -ENOMEM, ARENA_LOST, XAC_CORRUPT. */
int chain_make_room(struct xac_heap *heap, struct chain_spot *spot);
/* ARENA_LOST. */
int chain_write(struct xac_heap *heap, struct chain_spot spot, const struct root_entry *entry);
/* The chain becomes trees, and its objects get marks (K4); all or nothing. XAC_CORRUPT: it is damaged; -ENOSPC,
 * -ENOMEM, ARENA_LOST. */
int chain_convert(struct xac_heap *heap);

#endif
