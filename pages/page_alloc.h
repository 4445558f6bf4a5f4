/* SPDX-License-Identifier: MIT */
#ifndef PAGES_PAGE_ALLOC_H
#define PAGES_PAGE_ALLOC_H

/*
 * Free pages of an arena. Nothing here is written by every insert: an insert that splits no page does not come here,
 * and one that does writes the map of a group that other arenas (threads) leave alone (page_group.h).
 *
 * Taking and giving back are part of the transaction: what is aborted never happened. A structure reserves all the
 * pages that an operation may need before it changes anything, so that a full disk leaves nothing half done.
 *
 * An arena in which nothing was ever written is all zeros, and has no groups: the first that needs a page, or a
 * tree's number, makes the header. So opening an arena writes nothing, and a format that is aborted is repeated.
 */

#include "pages/page_group.h"

enum { ALLOC_RESERVE_MAX = 40 /* more than a tree has levels */ };

/* Pages for one operation. Zeroed: empty. */
struct page_reserve {
        uint32_t count;
        page_no pages[ALLOC_RESERVE_MAX];
};

/* Takes pages until the reserve has so many; a failure leaves it as it was. -ENOSPC, -ENOMEM, ARENA_LOST,
 * XAC_CORRUPT. */
int page_alloc_reserve(struct xac_arena *arena, struct page_reserve *reserve, uint32_t count);
/* Out of the reserve, which has one. The caller overwrites the page whole. */
page_no page_alloc_take(struct page_reserve *reserve);
/* Gives back what was not used. ARENA_LOST, XAC_CORRUPT. */
int page_alloc_release(struct xac_arena *arena, struct page_reserve *reserve);

/* Takes `count` pages into an array: all or none. The same errors. */
int page_alloc_take_many(struct xac_arena *arena, page_no *pages, size_t count);

/* Takes `count` pages that lie side by side, fewer than a group has. The same errors. */
int page_alloc_take_run(struct xac_arena *arena, size_t count, page_no *first);
/* Gives them back. ARENA_LOST; XAC_CORRUPT: one was free, or they are not pages of one group. */
int page_alloc_free_run(struct xac_arena *arena, page_no first, size_t count);

/* Frees a page, which is not written: only the map says so. ARENA_LOST; XAC_CORRUPT: it was free, or cannot be. */
int page_alloc_free(struct xac_arena *arena, page_no page);

/* XAC_FORMAT: neither an arena of this page size nor empty. In a transaction, which may be read-only. */
int page_alloc_probe(struct xac_arena *arena);

/* A number that no tree of the arena had, from 2 on: the catalog has 1. In a transaction. */
int page_alloc_tree_id(struct xac_arena *arena, uint32_t *id);

/* For checking: whether a page is free. XAC_CORRUPT: there is no such page. */
int page_alloc_is_free(struct xac_arena *arena, page_no page, bool *is_free);

/* Whether a page number that was found in a page can be followed at all. 0, or XAC_CORRUPT: the arena has no such page;
 * ARENA_LOST, -ENOMEM. */
static inline int page_alloc_reach(struct xac_arena *arena, page_no page)
{
        if (((uint64_t)page + 1) << arena->page_shift <= arena->byte_len)
                return 0;
        return page_group_look_for(arena, group_of(page));
}

#endif
