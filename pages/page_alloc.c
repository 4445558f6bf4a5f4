/* SPDX-License-Identifier: MIT */
#include "pages/page_alloc.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/zeros.h"

/* ---- taking ---- */

/* Takes up to `count` pages of the own group; lets go of it with its last one. */
static int own_take(struct xac_arena *arena, page_no *pages, size_t count, size_t *taken)
{
        struct group_map *map = arena_write(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        *taken += map_take(map, pages, count);
        map->used_at = map_now_s();
        if (!map_has_free(map)) {
                map->owner = 0;
                arena->own_group = NO_GROUP;
        }
        return 0;
}

static int give_back(struct xac_arena *arena, const page_no *pages, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct group_map *map = arena_write(arena, map_of(group_of(pages[i])));
                if (!map)
                        return ARENA_LOST;
                map_set_free(map, pages[i]);
        }
        return 0;
}

int page_alloc_take_many(struct xac_arena *arena, page_no *pages, size_t count)
{
        int err = 0;
        size_t taken = 0;
        while (!err && taken < count) {
                if (arena->own_group != NO_GROUP)
                        err = page_group_check_own(arena);
                if (!err && arena->own_group == NO_GROUP)
                        err = page_group_find(arena);
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

int page_alloc_reserve(struct xac_arena *arena, struct page_reserve *reserve, uint32_t count)
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

int page_alloc_release(struct xac_arena *arena, struct page_reserve *reserve)
{
        int err = give_back(arena, reserve->pages, reserve->count);
        reserve->count = 0;
        return err;
}

/* ---- pages side by side ---- */

/* The map that a page stands in, when there is such a page. */
static int map_of_page(struct xac_arena *arena, page_no page, const struct group_map **map)
{
        int err = page_alloc_reach(arena, page);
        return err ? err : page_group_map(arena, group_of(page), map);
}

/* When the arena cannot grow, for the reason `err`: in any group, whosever it is. */
static int group_find_any_run(struct xac_arena *arena, uint32_t groups, size_t count, int err)
{
        for (uint32_t group = 0; group < groups; group++) {
                const struct group_map *map;
                int bad = page_group_look(arena, group, &map);
                if (bad)
                        return bad;
                if (map && map_find_run(map, count) < GROUP_PAGES)
                        return page_group_own(arena, group);
        }
        return err;
}

/* Makes a group the own one in which they are. The one before is let go, with the room that it has for others. */
static int group_find_run(struct xac_arena *arena, size_t count)
{
        uint32_t groups = 0;
        int err = page_group_leave(arena);
        if (!err)
                err = page_group_count(arena, &groups);
        for (uint32_t i = 0; !err && i < GROUP_PROBES && i < groups; i++) {
                const struct group_map *map;
                uint32_t group = page_group_next(arena, groups, i);
                err = page_group_look(arena, group, &map);
                if (!err && page_group_may_own(arena, map) && map_find_run(map, count) < GROUP_PAGES)
                        return page_group_own(arena, group);
        }
        if (!err)
                err = page_group_add(arena, groups);
        if (!err || err == ARENA_LOST || err == XAC_CORRUPT)
                return err;
        return group_find_any_run(arena, groups, count, err);
}

/* Where the own group, if there is one, has them; GROUP_PAGES: nowhere. */
static int own_find_run(struct xac_arena *arena, size_t count, unsigned *at)
{
        *at = GROUP_PAGES;
        int err = arena->own_group == NO_GROUP ? 0 : page_group_check_own(arena);
        if (err || arena->own_group == NO_GROUP)
                return err;
        const struct group_map *map = arena_read(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        *at = map_find_run(map, count);
        return 0;
}

int page_alloc_take_run(struct xac_arena *arena, size_t count, page_no *first)
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
        map->used_at = map_now_s();
        return 0;
}

int page_alloc_free_run(struct xac_arena *arena, page_no first, size_t count)
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

/* ---- freeing ---- */

int page_alloc_free(struct xac_arena *arena, page_no page)
{
        const struct group_map *before;
        int err = map_of_page(arena, page, &before);
        if (err)
                return err;
        if (map_says_free(before, page) || page < PAGES_FIXED || page == map_of(group_of(page)))
                return XAC_CORRUPT;
        return give_back(arena, &page, 1);
}

int page_alloc_is_free(struct xac_arena *arena, page_no page, bool *is_free)
{
        const struct group_map *map;
        int err = map_of_page(arena, page, &map);
        if (!err)
                *is_free = map_says_free(map, page);
        return err;
}

/* ---- the arena as a whole ---- */

/* Page 0 is there, whatever the file is; it grows only when that page is right. */
int page_alloc_probe(struct xac_arena *arena)
{
        const struct group_map *map = arena_read(arena, map_of(0));
        if (!map)
                return ARENA_LOST;
        bool is_empty = are_zeros(map, arena->page_bytes);
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
                return are_zeros(header, arena->page_bytes) && are_zeros(catalog, arena->page_bytes) ? 0 : XAC_FORMAT;
        return header_is_sound(arena, header) ? 0 : XAC_FORMAT;
}

int page_alloc_tree_id(struct xac_arena *arena, uint32_t *id)
{
        int err = page_group_make(arena);
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
