/* SPDX-License-Identifier: MIT */
#ifndef PAGES_PAGE_ALLOC_H
#define PAGES_PAGE_ALLOC_H

/*
 * Free pages of an arena. Nothing here is written by every insert: an insert that splits no page does not come here,
 * and one that does writes the map of a group that other arenas (threads) leave alone.
 *
 *      group g    | map | page g * 512 + 1 | ... | page g * 512 + 511 |
 *      map        | kind | group | owner | used_at | free bits: 512, 1 = free |
 *      header     | kind | page_bytes | magic | groups | next_tree_id | covered groups: a bit each |
 *
 * An arena takes pages from its own group. When that is used up it looks at some groups at random for one with room
 * that no other arena owns, and adds a group to the file when it finds none: two arenas seldom write one map. Who owns
 * a group, and when it last took a page there, is a hint: the death of an owner leaves it behind, and a group that was
 * not used for some seconds is taken over. The owner is named in the map, by a random number, because the map is part
 * of the transaction while arena->own_group is not: after an abort, or a takeover, the map says that the group is not
 * (or no longer) this arena's.
 *
 * Whole groups are taken, too: all of a group's pages at once. They have no owner. Several that lie side by side are
 * one piece of memory from the first one's second page on: only the first has a map, the others are covered by it.
 *
 * Taking and giving back are part of the transaction: what is aborted never happened. A structure reserves all the
 * pages that an operation may need before it changes anything, so that a full disk leaves nothing half done.
 *
 * An arena in which nothing was ever written is all zeros, and has no groups: the first that needs a page, or a
 * tree's number, makes the header. So opening an arena writes nothing, and a format that is aborted is repeated.
 */

#include "pages/page_arena.h"

enum { ALLOC_RESERVE_MAX = 40 /* more than a tree has levels */ };

/* Pages for one operation. Zeroed: empty. */
struct page_reserve {
        uint32_t count;
        page_no pages[ALLOC_RESERVE_MAX];
};

/* Makes the header and the first group of an arena in which nothing was ever written. -ENOSPC, -ENOMEM, ARENA_LOST,
 * XAC_CORRUPT. */
int page_alloc_make(struct page_arena *arena);

/* Takes pages until the reserve has so many; a failure leaves it as it was. -ENOSPC, -ENOMEM, ARENA_LOST,
 * XAC_CORRUPT. */
int page_alloc_reserve(struct page_arena *arena, struct page_reserve *reserve, uint32_t count);
/* Out of the reserve, which has one. The caller overwrites the page whole. */
page_no page_alloc_take(struct page_reserve *reserve);
/* Gives back what was not used. ARENA_LOST, XAC_CORRUPT. */
int page_alloc_release(struct page_arena *arena, struct page_reserve *reserve);

/* Takes `count` pages into an array: all or none. The same errors. */
int page_alloc_take_many(struct page_arena *arena, page_no *pages, size_t count);

/* Takes `count` pages that lie side by side, fewer than a group has. The same errors. */
int page_alloc_take_run(struct page_arena *arena, size_t count, page_no *first);
/* Gives them back. ARENA_LOST; XAC_CORRUPT: one was free, or they are not pages of one group. */
int page_alloc_free_run(struct page_arena *arena, page_no first, size_t count);

/* Takes a group, all of its pages but the map; what is in them means nothing. The same errors. */
int page_alloc_take_group(struct page_arena *arena, uint32_t *group);
/* Gives it back. ARENA_LOST; XAC_CORRUPT: a page of it was free, or there is no such group. */
int page_alloc_free_group(struct page_arena *arena, uint32_t group);
/* Takes `count` groups that lie side by side, two at least. -ENOMEM: the arena cannot have so many; the same errors. */
int page_alloc_take_groups(struct page_arena *arena, uint32_t count, uint32_t *first);
/* Gives them back. ARENA_LOST, XAC_CORRUPT. */
int page_alloc_free_groups(struct page_arena *arena, uint32_t first, uint32_t count);
/* How many groups after this one it covers. */
uint32_t page_alloc_covered_by(struct page_arena *arena, uint32_t group);
bool page_alloc_is_covered(struct page_arena *arena, uint32_t group);
/* Frees a page, which is not written: only the map says so. ARENA_LOST; XAC_CORRUPT: it was free, or cannot be. */
int page_alloc_free(struct page_arena *arena, page_no page);

/* XAC_FORMAT: neither an arena of this page size nor empty. In a transaction, which may be read-only. */
int page_alloc_probe(struct page_arena *arena);
/* Lets go of the own group, at close; in a transaction. */
int page_alloc_leave(struct page_arena *arena);

/* A number that no tree of the arena had, from 2 on: the catalog has 1. In a transaction. */
int page_alloc_tree_id(struct page_arena *arena, uint32_t *id);

/* How many groups the arena has; 0: it is empty. */
int page_alloc_groups(struct page_arena *arena, uint32_t *groups);
/* For checking: whether a page is free. XAC_CORRUPT: there is no such page. */
int page_alloc_is_free(struct page_arena *arena, page_no page, bool *is_free);

/* Where to look next. */
uint64_t page_alloc_random(struct page_arena *arena);

/* The slow half of page_alloc_reach. */
int page_alloc_look_for(struct page_arena *arena, page_no page);

/* Whether a page number that was found in a page can be followed at all. 0, or XAC_CORRUPT: the arena has no such page;
 * ARENA_LOST, -ENOMEM. */
static inline int page_alloc_reach(struct page_arena *arena, page_no page)
{
        if (((uint64_t)page + 1) << arena->page_shift <= arena->byte_len)
                return 0;
        return page_alloc_look_for(arena, page);
}

/* The same for a group that was taken as a whole, of which there are as many as page numbers allow. */
static inline int page_alloc_reach_group(struct page_arena *arena, uint32_t group)
{
        if (!group || group > UINT32_MAX / GROUP_PAGES)
                return XAC_CORRUPT;
        return page_alloc_reach(arena, group * GROUP_PAGES + GROUP_PAGES - 1);
}

#endif
