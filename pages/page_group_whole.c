/* SPDX-License-Identifier: MIT */
#include "pages/page_group.h"

#include <errno.h>
#include <string.h>

/* Takes all of it. */
static int group_empty(struct xac_arena *arena, uint32_t group)
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
static int group_look_for_whole(struct xac_arena *arena, uint32_t groups, uint32_t *group)
{
        for (uint32_t i = 0; i < GROUP_PROBES && i < groups; i++) {
                const struct group_map *map;
                *group = page_group_next(arena, groups, i);
                int err = page_group_look(arena, *group, &map);
                if (err)
                        return err;
                if (map && map_is_empty(map) && page_group_may_own(arena, map))
                        return 0;
        }
        *group = NO_GROUP;
        return 0;
}

/* When the arena cannot grow, for the reason `err`: any group that is wholly free. */
static int group_look_for_any_whole(struct xac_arena *arena, uint32_t groups, uint32_t *group, int err)
{
        for (*group = 1; *group < groups; ++*group) {
                const struct group_map *map;
                int bad = page_group_look(arena, *group, &map);
                if (bad)
                        return bad;
                if (map && map_is_empty(map))
                        return 0;
        }
        return err;
}

/* The first group is never whole: an arena that has none gets that one as well. */
int page_group_take(struct xac_arena *arena, uint32_t *group)
{
        uint32_t groups;
        struct group_map *map;
        int err = page_group_count(arena, &groups);
        if (!err && !groups && !(err = page_group_append(arena, 0, &map)))
                groups = 1;
        if (!err)
                err = group_look_for_whole(arena, groups, group);
        if (err)
                return err;
        if (*group == NO_GROUP) {
                *group = groups;
                err = page_group_append(arena, groups, &map);
                if (err && err != ARENA_LOST && err != XAC_CORRUPT)
                        err = group_look_for_any_whole(arena, groups, group, err);
        }
        return err ? err : group_empty(arena, *group);
}

/* ---- runs ---- */

/* Some that are wholly free, and nobody's or anybody's; `groups`: there are none. */
static int groups_look_for(struct xac_arena *arena, uint32_t groups, uint32_t count, bool of_anybody, uint32_t *first)
{
        *first = 1;
        for (uint32_t group = 1; group < groups && group - *first < count; group++) {
                const struct group_map *map;
                int err = page_group_look(arena, group, &map);
                if (err)
                        return err;
                if (!map || !map_is_empty(map) || (!of_anybody && !page_group_may_own(arena, map)))
                        *first = group + 1;
        }
        if (groups < 1 + count || groups - *first < count)
                *first = groups;
        return 0;
}

/* The map of the first says that nothing is free, and the header that the others have none. */
static int groups_cover(struct xac_arena *arena, uint32_t groups, uint32_t first, uint32_t count)
{
        struct arena_header *header = arena_write(arena, PAGE_HEADER);
        struct group_map *map = header ? arena_write(arena, map_of(first)) : NULL;
        if (!map)
                return ARENA_LOST;
        memset(map, 0, arena->page_bytes); /* whatever a page that was never used may hold */
        *map = (struct group_map){ .kind = PAGE_IS_MAP, .group = first };
        for (uint32_t group = first + 1; group < first + count; group++)
                header_set_covered(header, group, true);
        header->groups = first + count > groups ? first + count : groups;
        header->not_groups = ~header->groups;
        if (arena->own_group >= first && arena->own_group < first + count)
                arena->own_group = NO_GROUP;
        return 0;
}

/* Behind the last, where the arena is to have so many groups then; if it cannot, among those that others own. */
static int groups_grow(struct xac_arena *arena, uint32_t groups, uint32_t count, uint32_t *first)
{
        int err = arena_grow(arena, ((uint64_t)*first + count) * GROUP_PAGES);
        if (!err)
                return 0;
        int bad = groups_look_for(arena, groups, count, true, first);
        if (bad)
                return bad;
        return *first == groups ? err : 0;
}

int page_group_take_run(struct xac_arena *arena, uint32_t count, uint32_t *first)
{
        uint32_t groups = 0;
        int err = page_group_make(arena);
        if (!err)
                err = page_group_count(arena, &groups);
        if (!err)
                err = groups_look_for(arena, groups, count, false, first);
        if (!err && (uint64_t)*first + count > header_can_cover(arena->page_bytes))
                err = -ENOMEM;
        if (!err && *first == groups)
                err = groups_grow(arena, groups, count, first);
        return err ? err : groups_cover(arena, groups, *first, count);
}

uint32_t page_group_covered_by(struct xac_arena *arena, uint32_t group)
{
        const struct arena_header *header = arena_read(arena, PAGE_HEADER);
        return header ? header_count_covered(header, group + 1, arena->page_bytes) : 0;
}

int page_group_free_run(struct xac_arena *arena, uint32_t first, uint32_t count)
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
                int err = page_group_free(arena, group);
                if (err)
                        return err;
        }
        return 0;
}

int page_group_free(struct xac_arena *arena, uint32_t group)
{
        const struct group_map *before;
        int err = page_group_reach(arena, group);
        if (!err)
                err = page_group_map(arena, group, &before);
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
