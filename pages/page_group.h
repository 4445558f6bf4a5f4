/* SPDX-License-Identifier: MIT */
#ifndef PAGES_PAGE_GROUP_H
#define PAGES_PAGE_GROUP_H

/*
 * Groups of pages: their maps, who takes pages where, and groups that are taken whole.
 *
 *      group g    | map | page g * 512 + 1 | ... | page g * 512 + 511 |
 *      map        | kind | group | owner | used_at | free bits: 512, 1 = free |
 *      header     | kind | page_bytes | magic | groups | next_tree_id | covered groups: a bit each |
 *
 * An arena takes pages from its own group. When that is used up it looks at some groups at random for one with room
 * that no other arena owns, and adds a group to the file when it finds none: two arenas seldom write one map. The owner
 * is named in the map, because the map is part of the transaction while arena->own_group is not: after an abort, or a
 * takeover, the map says that the group is not (or no longer) this arena's. In an environment the name is a
 * participant's xac_self(): a group of the dead is free at once. Who took no page for some seconds is taken over as
 * well, dead or not.
 *
 * Whole groups are taken, too: all of a group's pages at once. They have no owner. Several that lie side by side, a
 * run, are one piece of memory from the first one's second page on: only the first has a map, the others are covered by
 * it.
 */

#include "pages/page_map.h"

/* How many groups the arena has; 0: it is empty. The arena reaches as far as its groups when this has returned 0. */
int page_group_count(struct xac_arena *arena, uint32_t *groups);
/* Makes the header and the first group of an arena in which nothing was ever written. -ENOSPC, -ENOMEM, ARENA_LOST,
 * XAC_CORRUPT. */
int page_group_make(struct xac_arena *arena);
/* The slow half of page_group_reach. */
int page_group_look_for(struct xac_arena *arena, uint32_t group);

/* Whether a group's number that was found in a page can be followed at all. 0, or XAC_CORRUPT: the arena has no such
 * group; ARENA_LOST, -ENOMEM. */
static inline int page_group_reach(struct xac_arena *arena, uint32_t group)
{
        if (!group || group > UINT32_MAX / GROUP_PAGES)
                return XAC_CORRUPT;
        if (((uint64_t)group + 1) * GROUP_PAGES << arena->page_shift <= arena->byte_len)
                return 0;
        return page_group_look_for(arena, group);
}

/* ---- whole ones: page_group_whole.c ---- */

/* Takes a group, all of its pages but the map; what is in them means nothing. -ENOSPC, -ENOMEM, ARENA_LOST,
 * XAC_CORRUPT. */
int page_group_take(struct xac_arena *arena, uint32_t *group);
/* Gives it back. ARENA_LOST; XAC_CORRUPT: a page of it was free, or there is no such group. */
int page_group_free(struct xac_arena *arena, uint32_t group);
/* Takes a run of `count`, two at least. -ENOMEM: the arena cannot have so many; the same errors. */
int page_group_take_run(struct xac_arena *arena, uint32_t count, uint32_t *first);
/* Gives it back. ARENA_LOST, XAC_CORRUPT. */
int page_group_free_run(struct xac_arena *arena, uint32_t first, uint32_t count);
/* How many groups after this one it covers. */
uint32_t page_group_covered_by(struct xac_arena *arena, uint32_t group);
bool page_group_is_covered(struct xac_arena *arena, uint32_t group);

/* ---- for the other files of pages/ and those who look at maps ---- */

/* The map of a group of the arena, or of what a page number names. ARENA_LOST, XAC_CORRUPT. */
int page_group_map(const struct xac_arena *arena, uint32_t group, const struct group_map **map);
/* The same; NULL: it is covered, and has none. */
int page_group_look(struct xac_arena *arena, uint32_t group, const struct group_map **map);

/* Whether nobody else takes pages there. */
bool page_group_is_quiet(const struct xac_arena *arena, const struct group_map *map);
/* It is quiet, and has enough room to be worth owning. */
bool page_group_may_own(const struct xac_arena *arena, const struct group_map *map);
/* The group to look at when `tried` were in vain; a few are looked at one after the other, so that small arenas are the
 * same whenever the same was done. */
uint32_t page_group_next(struct xac_arena *arena, uint32_t groups, uint32_t tried);
enum { GROUP_PROBES = 16 /* groups that are looked at before one is added */ };

/* Adds one behind the last, of which there are `groups`; the first comes with the header. The caller says whose it is.
 * -ENOSPC, -ENOMEM, ARENA_LOST, XAC_CORRUPT. */
int page_group_append(struct xac_arena *arena, uint32_t groups, struct group_map **made);
/* The same, as the own one. */
int page_group_add(struct xac_arena *arena, uint32_t groups);
/* Makes it the own one. ARENA_LOST. */
int page_group_own(struct xac_arena *arena, uint32_t group);
/* Makes one with a free page the own one. The errors of page_group_append. */
int page_group_find(struct xac_arena *arena);
/* Whether the own group is what it was when this arena took it; else there is none any more. It is not when that was
 * aborted: then the map may be fresh, or another's. ARENA_LOST, XAC_CORRUPT. */
int page_group_check_own(struct xac_arena *arena);
/* Lets go of the own group. ARENA_LOST, XAC_CORRUPT. */
int page_group_leave(struct xac_arena *arena);

#endif
