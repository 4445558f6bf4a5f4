/* SPDX-License-Identifier: MIT */
#include "pages/page_alloc.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "pages/page_map.h"

enum {
        PROBES = 16,    /* groups that are looked at before one is added */
        ROOM_MIN = 16,  /* free pages that make a group worth owning */
        DESERTED_S = 10 /* an owner that took no page for so long is taken for dead */
};

/* ---- groups ---- */

/* A group of the arena, or what a page number names. */
static int map_read(const struct page_arena *arena, uint32_t group, const struct group_map **map)
{
        *map = arena_read(arena, map_of(group));
        if (!*map)
                return ARENA_LOST;
        return map_is_sound(*map, group) ? 0 : XAC_CORRUPT;
}

bool page_alloc_is_covered(struct page_arena *arena, uint32_t group)
{
        const struct arena_header *header = arena_read(arena, PAGE_HEADER);
        return header && header_covers(header, group, arena->page_bytes);
}

/* The same; NULL: it is covered, and has none. */
static int map_look(struct page_arena *arena, uint32_t group, const struct group_map **map)
{
        *map = NULL;
        return page_alloc_is_covered(arena, group) ? 0 : map_read(arena, group, map);
}

static uint32_t now_s(void)
{
        return (uint32_t)time(NULL);
}

static bool header_is_sound(const struct page_arena *arena, const struct arena_header *header)
{
        return header->kind == PAGE_IS_HEADER && header->magic == arena->magic &&
               header->page_bytes == arena->page_bytes && header->groups && header->groups == ~header->not_groups &&
               header->next_tree_id >= TREE_ID_MIN;
}

/* Nothing was ever written, and not only to the first byte. */
static bool header_is_fresh(const struct arena_header *header)
{
        static const struct arena_header fresh;
        return !memcmp(header, &fresh, sizeof(fresh));
}

/* The arena reaches as far as its groups when this has returned 0. */
int page_alloc_groups(struct page_arena *arena, uint32_t *groups)
{
        *groups = 0;
        const struct arena_header *header = arena_read(arena, PAGE_HEADER);
        if (!header)
                return ARENA_LOST;
        if (header_is_fresh(header))
                return 0;
        if (!header_is_sound(arena, header))
                return XAC_CORRUPT;
        *groups = header->groups;
        return arena_grow(arena, (uint64_t)header->groups * GROUP_PAGES);
}

int page_alloc_look_for(struct page_arena *arena, page_no page)
{
        uint32_t groups;
        int err = page_alloc_groups(arena, &groups);
        if (err)
                return err;
        return group_of(page) < groups ? 0 : XAC_CORRUPT;
}

/* Behind the last group, of which there are `groups`; the first comes with the header. The file grows first, as only
 * that can fail. The caller says whose it is. */
static int group_append(struct page_arena *arena, uint32_t groups, struct group_map **made)
{
        int err = arena_grow(arena, ((uint64_t)groups + 1) * GROUP_PAGES);
        if (err)
                return err;
        const unsigned char *kind = arena_read(arena, map_of(groups));
        if (!kind)
                return ARENA_LOST;
        if (*kind != PAGE_FRESH)
                return XAC_CORRUPT;
        struct arena_header *header = arena_write(arena, PAGE_HEADER);
        struct group_map *map = header ? arena_write(arena, map_of(groups)) : NULL;
        if (!map)
                return ARENA_LOST;
        if (!groups)
                *header = (struct arena_header){ .kind = PAGE_IS_HEADER,
                                                 .page_bytes = arena->page_bytes,
                                                 .magic = arena->magic,
                                                 .next_tree_id = TREE_ID_MIN };
        header->groups = groups + 1;
        header->not_groups = ~header->groups;
        *map = (struct group_map){ .kind = PAGE_IS_MAP, .group = groups, .used_at = now_s() };
        memset(map->free, 0xff, sizeof(map->free));
        map->free[0] &= ~map_fixed_bits(groups);
        *made = map;
        return 0;
}

static int group_add(struct page_arena *arena, uint32_t groups)
{
        struct group_map *map;
        int err = group_append(arena, groups, &map);
        if (err)
                return err;
        map->owner = arena->token;
        arena->own_group = groups;
        return 0;
}

static int group_own(struct page_arena *arena, uint32_t group)
{
        struct group_map *map = arena_write(arena, map_of(group));
        if (!map)
                return ARENA_LOST;
        map->owner = arena->token;
        map->used_at = now_s();
        arena->own_group = group;
        return 0;
}

/* One that is this arena's already was let go in a transaction that was aborted. A clock that was set back makes groups
 * deserted: harmless, too. */
static bool is_worth_owning(const struct page_arena *arena, const struct group_map *map)
{
        if (!map)
                return false;
        if (map->owner == arena->token)
                return map_has_free(map);
        return (!map->owner || now_s() - map->used_at > DESERTED_S) && map_count_free(map) >= ROOM_MIN;
}

/* splitmix64 (G. Steele et al., OOPSLA 2014) */
uint64_t page_alloc_random(struct page_arena *arena)
{
        uint64_t mixed = arena->random += UINT64_C(0x9e3779b97f4a7c15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        return mixed ^ mixed >> 31;
}

/* Owns a group with room that is nobody else's; own_group stays NO_GROUP when none was found. Few groups are looked at
 * one after the other, so that small arenas are the same whenever the same was done. */
static int group_probe(struct page_arena *arena, uint32_t groups)
{
        for (uint32_t i = 0; i < PROBES && i < groups; i++) {
                const struct group_map *map;
                uint32_t group = groups > PROBES ? (uint32_t)(page_alloc_random(arena) % groups) : i;
                int err = map_look(arena, group, &map);
                if (err)
                        return err;
                if (is_worth_owning(arena, map))
                        return group_own(arena, group);
        }
        return 0;
}

/* When the arena cannot grow, for the reason `err`: owns a group with any room, whosever it is. */
static int group_find_any(struct page_arena *arena, uint32_t groups, int err)
{
        for (uint32_t group = 0; group < groups; group++) {
                const struct group_map *map;
                int bad = map_look(arena, group, &map);
                if (bad)
                        return bad;
                if (map && map_has_free(map))
                        return group_own(arena, group);
        }
        return err;
}

/* Makes a group with a free page the own one. */
static int group_find(struct page_arena *arena)
{
        uint32_t groups;
        int err = page_alloc_groups(arena, &groups);
        if (!err)
                err = group_probe(arena, groups);
        if (err || arena->own_group != NO_GROUP)
                return err;
        err = group_add(arena, groups);
        if (!err || err == ARENA_LOST || err == XAC_CORRUPT)
                return err;
        return group_find_any(arena, groups, err);
}

/* ---- taking ---- */

/* Whether the own group is what it was when this arena took it. It is not when that was aborted: then the map may be
 * fresh, or another's. */
static int own_is_kept(struct page_arena *arena)
{
        const struct group_map *map = arena_read(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        if (map->kind != PAGE_FRESH && !map_is_sound(map, arena->own_group))
                return XAC_CORRUPT;
        if (map->owner != arena->token)
                arena->own_group = NO_GROUP;
        return 0;
}

/* Takes up to `count` pages of the own group; lets go of it with its last one. */
static int own_take(struct page_arena *arena, page_no *pages, size_t count, size_t *taken)
{
        struct group_map *map = arena_write(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        *taken += map_take(map, pages, count);
        map->used_at = now_s();
        if (!map_has_free(map)) {
                map->owner = 0;
                arena->own_group = NO_GROUP;
        }
        return 0;
}

static int give_back(struct page_arena *arena, const page_no *pages, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct group_map *map = arena_write(arena, map_of(group_of(pages[i])));
                if (!map)
                        return ARENA_LOST;
                map_set_free(map, pages[i]);
        }
        return 0;
}

int page_alloc_take_many(struct page_arena *arena, page_no *pages, size_t count)
{
        int err = 0;
        size_t taken = 0;
        while (!err && taken < count) {
                if (arena->own_group != NO_GROUP)
                        err = own_is_kept(arena);
                if (!err && arena->own_group == NO_GROUP)
                        err = group_find(arena);
                if (!err)
                        err = own_take(arena, pages + taken, count - taken, &taken);
        }
        if (!err || err == ARENA_LOST)
                return err;
        int lost = give_back(arena, pages, taken);
        return lost ? lost : err;
}

/* The first of them is to be taken first: neighbours in a tree are neighbours in the file. */
static void turn_round(page_no *pages, size_t count)
{
        for (size_t i = 0; i < count / 2; i++) {
                page_no page = pages[i];
                pages[i] = pages[count - 1 - i];
                pages[count - 1 - i] = page;
        }
}

int page_alloc_reserve(struct page_arena *arena, struct page_reserve *reserve, uint32_t count)
{
        assert(count <= ALLOC_RESERVE_MAX);
        if (count <= reserve->count)
                return 0;
        int err = page_alloc_take_many(arena, reserve->pages + reserve->count, count - reserve->count);
        if (err)
                return err;
        turn_round(reserve->pages + reserve->count, count - reserve->count);
        reserve->count = count;
        return 0;
}

page_no page_alloc_take(struct page_reserve *reserve)
{
        assert(reserve->count);
        return reserve->pages[--reserve->count];
}

int page_alloc_release(struct page_arena *arena, struct page_reserve *reserve)
{
        int err = give_back(arena, reserve->pages, reserve->count);
        reserve->count = 0;
        return err;
}

/* ---- pages side by side ---- */

/* The map that a page stands in, when there is such a page. */
static int map_of_page(struct page_arena *arena, page_no page, const struct group_map **map)
{
        int err = page_alloc_reach(arena, page);
        return err ? err : map_read(arena, group_of(page), map);
}

/* Makes a group the own one in which they are. The one before is let go, with the room that it has for others. */
static int group_find_run(struct page_arena *arena, size_t count)
{
        uint32_t groups = 0;
        int err = page_alloc_leave(arena);
        if (!err)
                err = page_alloc_groups(arena, &groups);
        for (uint32_t i = 0; !err && i < PROBES && i < groups; i++) {
                const struct group_map *map;
                uint32_t group = groups > PROBES ? (uint32_t)(page_alloc_random(arena) % groups) : i;
                err = map_look(arena, group, &map);
                if (!err && is_worth_owning(arena, map) && map_find_run(map, count) < GROUP_PAGES)
                        return group_own(arena, group);
        }
        return err ? err : group_add(arena, groups);
}

/* Where the own group, if there is one, has them; GROUP_PAGES: nowhere. */
static int own_find_run(struct page_arena *arena, size_t count, unsigned *at)
{
        *at = GROUP_PAGES;
        int err = arena->own_group == NO_GROUP ? 0 : own_is_kept(arena);
        if (err || arena->own_group == NO_GROUP)
                return err;
        const struct group_map *map = arena_read(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        *at = map_find_run(map, count);
        return 0;
}

int page_alloc_take_run(struct page_arena *arena, size_t count, page_no *first)
{
        unsigned at;
        assert(count && count < GROUP_PAGES);
        int err;
        while (!(err = own_find_run(arena, count, &at)) && at == GROUP_PAGES)
                if ((err = group_find_run(arena, count))) /* the first group may have too little room */
                        break;
        if (err)
                return err;
        struct group_map *map = arena_write(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        *first = map_of(arena->own_group) + at;
        for (size_t i = 0; i < count; i++)
                map_set_taken(map, *first + (page_no)i);
        map->used_at = now_s();
        return 0;
}

int page_alloc_free_run(struct page_arena *arena, page_no first, size_t count)
{
        const struct group_map *before;
        int err = map_of_page(arena, first, &before);
        if (err)
                return err;
        if (first % GROUP_PAGES + count > GROUP_PAGES || first < PAGES_FIXED || first == map_of(group_of(first)))
                return XAC_CORRUPT;
        for (size_t i = 0; i < count; i++)
                if (map_says_free(before, first + (page_no)i))
                        return XAC_CORRUPT;
        struct group_map *map = arena_write(arena, map_of(group_of(first)));
        if (!map)
                return ARENA_LOST;
        for (size_t i = 0; i < count; i++)
                map_set_free(map, first + (page_no)i);
        return 0;
}

/* ---- whole groups ---- */

/* Takes all of it. */
static int group_empty(struct page_arena *arena, uint32_t group)
{
        struct group_map *map = arena_write(arena, map_of(group));
        if (!map)
                return ARENA_LOST;
        memset(map->free, 0, sizeof(map->free));
        map->owner = 0;
        if (arena->own_group == group)
                arena->own_group = NO_GROUP;
        return 0;
}

/* One of some groups that is wholly free, and nobody else's, or NO_GROUP. */
static int group_look_for_whole(struct page_arena *arena, uint32_t groups, uint32_t *group)
{
        for (uint32_t i = 0; i < PROBES && i < groups; i++) {
                const struct group_map *map;
                *group = groups > PROBES ? (uint32_t)(page_alloc_random(arena) % groups) : i;
                int err = map_look(arena, *group, &map);
                if (err)
                        return err;
                if (map && map_is_empty(map) && is_worth_owning(arena, map))
                        return 0;
        }
        *group = NO_GROUP;
        return 0;
}

/* When the arena cannot grow, for the reason `err`: any group that is wholly free. */
static int group_look_for_any_whole(struct page_arena *arena, uint32_t groups, uint32_t *group, int err)
{
        for (*group = 1; *group < groups; ++*group) {
                const struct group_map *map;
                int bad = map_look(arena, *group, &map);
                if (bad)
                        return bad;
                if (map && map_is_empty(map))
                        return 0;
        }
        return err;
}

/* The first group is never whole: an arena that has none gets that one as well. */
int page_alloc_take_group(struct page_arena *arena, uint32_t *group)
{
        uint32_t groups;
        struct group_map *map;
        int err = page_alloc_groups(arena, &groups);
        if (!err && !groups && !(err = group_append(arena, 0, &map)))
                groups = 1;
        if (!err)
                err = group_look_for_whole(arena, groups, group);
        if (err)
                return err;
        if (*group == NO_GROUP) {
                *group = groups;
                err = group_append(arena, groups, &map);
                if (err && err != ARENA_LOST && err != XAC_CORRUPT)
                        err = group_look_for_any_whole(arena, groups, group, err);
        }
        return err ? err : group_empty(arena, *group);
}

/* ---- groups side by side ---- */

/* Some that are wholly free and nobody's; `groups`: there are none. */
static int groups_look_for(struct page_arena *arena, uint32_t groups, uint32_t count, uint32_t *first)
{
        *first = 1;
        for (uint32_t group = 1; group < groups && group - *first < count; group++) {
                const struct group_map *map;
                int err = map_look(arena, group, &map);
                if (err)
                        return err;
                if (!map || !map_is_empty(map) || !is_worth_owning(arena, map))
                        *first = group + 1;
        }
        if (groups < 1 + count || groups - *first < count)
                *first = groups;
        return 0;
}

/* The map of the first says that nothing is free, and the header that the others have none. */
static int groups_cover(struct page_arena *arena, uint32_t groups, uint32_t first, uint32_t count)
{
        struct arena_header *header = arena_write(arena, PAGE_HEADER);
        struct group_map *map = header ? arena_write(arena, map_of(first)) : NULL;
        if (!map)
                return ARENA_LOST;
        *map = (struct group_map){ .kind = PAGE_IS_MAP, .group = first };
        for (uint32_t group = first + 1; group < first + count; group++)
                header_set_covered(header, group, true);
        header->groups = first + count > groups ? first + count : groups;
        header->not_groups = ~header->groups;
        if (arena->own_group >= first && arena->own_group < first + count)
                arena->own_group = NO_GROUP;
        return 0;
}

int page_alloc_take_groups(struct page_arena *arena, uint32_t count, uint32_t *first)
{
        uint32_t groups = 0;
        int err = page_alloc_make(arena);
        if (!err)
                err = page_alloc_groups(arena, &groups);
        if (!err)
                err = groups_look_for(arena, groups, count, first);
        if (!err && (uint64_t)*first + count > header_can_cover(arena->page_bytes))
                err = -ENOMEM;
        if (!err)
                err = arena_grow(arena, ((uint64_t)*first + count) * GROUP_PAGES);
        return err ? err : groups_cover(arena, groups, *first, count);
}

uint32_t page_alloc_covered_by(struct page_arena *arena, uint32_t group)
{
        uint32_t count = 0;
        while (page_alloc_is_covered(arena, group + 1 + count))
                count++;
        return count;
}

int page_alloc_free_groups(struct page_arena *arena, uint32_t first, uint32_t count)
{
        struct arena_header *header = arena_write(arena, PAGE_HEADER);
        if (!header)
                return ARENA_LOST;
        for (uint32_t group = first + 1; group < first + count; group++) {
                if (!header_covers(header, group, arena->page_bytes))
                        return XAC_CORRUPT;
                struct group_map *map = arena_write(arena, map_of(group));
                if (!map)
                        return ARENA_LOST;
                header_set_covered(header, group, false);
                memset(map, 0, arena->page_bytes);
                map->kind = PAGE_IS_MAP;
                map->group = group;
        }
        for (uint32_t group = first; group < first + count; group++) {
                int err = page_alloc_free_group(arena, group);
                if (err)
                        return err;
        }
        return 0;
}

/* ---- freeing ---- */

int page_alloc_free(struct page_arena *arena, page_no page)
{
        const struct group_map *before;
        int err = map_of_page(arena, page, &before);
        if (err)
                return err;
        if (map_says_free(before, page) || page < PAGES_FIXED || page == map_of(group_of(page)))
                return XAC_CORRUPT;
        return give_back(arena, &page, 1);
}

int page_alloc_free_group(struct page_arena *arena, uint32_t group)
{
        const struct group_map *before;
        int err = page_alloc_reach_group(arena, group);
        if (!err)
                err = map_read(arena, group, &before);
        if (err)
                return err;
        if (map_has_free(before))
                return XAC_CORRUPT;
        struct group_map *map = arena_write(arena, map_of(group));
        if (!map)
                return ARENA_LOST;
        memset(map->free, 0xff, sizeof(map->free));
        map->free[0] &= ~map_fixed_bits(group);
        map->owner = 0;
        return 0;
}

int page_alloc_is_free(struct page_arena *arena, page_no page, bool *is_free)
{
        const struct group_map *map;
        int err = map_of_page(arena, page, &map);
        if (!err)
                *is_free = map_says_free(map, page);
        return err;
}

/* ---- the arena as a whole ---- */

static bool page_is_zero(const struct page_arena *arena, const void *page)
{
        const char *bytes = page;
        return !bytes[0] && !memcmp(bytes, bytes + 1, arena->page_bytes - 1);
}

/* Page 0 is there, whatever the file is; it grows only when that page is right. */
int page_alloc_probe(struct page_arena *arena)
{
        const struct group_map *map = arena_read(arena, map_of(0));
        if (!map)
                return ARENA_LOST;
        bool is_empty = page_is_zero(arena, map);
        if (!is_empty && !map_is_sound(map, 0))
                return XAC_FORMAT;
        int err = arena_grow(arena, GROUP_PAGES);
        if (err)
                return err;
        const void *header = arena_read(arena, PAGE_HEADER);
        const void *catalog = header ? arena_read(arena, PAGE_CATALOG) : NULL;
        if (!catalog)
                return ARENA_LOST;
        if (is_empty)
                return page_is_zero(arena, header) && page_is_zero(arena, catalog) ? 0 : XAC_FORMAT;
        return header_is_sound(arena, header) ? 0 : XAC_FORMAT;
}

int page_alloc_leave(struct page_arena *arena)
{
        if (arena->own_group == NO_GROUP)
                return 0;
        int err = own_is_kept(arena);
        if (err || arena->own_group == NO_GROUP)
                return err;
        struct group_map *map = arena_write(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        map->owner = 0;
        arena->own_group = NO_GROUP;
        return 0;
}

int page_alloc_make(struct page_arena *arena)
{
        uint32_t groups;
        int err = page_alloc_groups(arena, &groups);
        return err || groups ? err : group_add(arena, 0);
}

int page_alloc_tree_id(struct page_arena *arena, uint32_t *id)
{
        int err = page_alloc_make(arena);
        if (err)
                return err;
        struct arena_header *header = arena_write(arena, PAGE_HEADER);
        if (!header)
                return ARENA_LOST;
        if (header->next_tree_id == UINT32_MAX)
                return -ENOSPC;
        *id = header->next_tree_id++;
        return 0;
}
