/* SPDX-License-Identifier: MIT */
#include "pages/page_group.h"

#include <errno.h>
#include <string.h>

enum {
        ROOM_MIN = 16,  /* free pages that make a group worth owning */
        DESERTED_S = 10 /* an owner that took no page for so long is as good as gone */
};

/* ---- maps and the header ---- */

int page_group_map(const struct xac_arena *arena, uint32_t group, const struct group_map **map)
{
        *map = arena_read(arena, map_of(group));
        if (!*map)
                return ARENA_LOST;
        return map_is_sound(*map, group) ? 0 : XAC_CORRUPT;
}

bool page_group_is_covered(struct xac_arena *arena, uint32_t group)
{
        const struct arena_header *header = arena_read(arena, PAGE_HEADER);
        return header && header_covers(header, group, arena->page_bytes);
}

int page_group_look(struct xac_arena *arena, uint32_t group, const struct group_map **map)
{
        *map = NULL;
        return page_group_is_covered(arena, group) ? 0 : page_group_map(arena, group, map);
}

int page_group_count(struct xac_arena *arena, uint32_t *groups)
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

int page_group_look_for(struct xac_arena *arena, uint32_t group)
{
        uint32_t groups;
        int err = page_group_count(arena, &groups);
        if (err)
                return err;
        return group < groups ? 0 : XAC_CORRUPT;
}

/* The file grows first, as only that can fail. */
int page_group_append(struct xac_arena *arena, uint32_t groups, struct group_map **made)
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
        memset(map, 0, arena->page_bytes); /* of what stands behind the map nothing is kept, either */
        *map = (struct group_map){ .kind = PAGE_IS_MAP, .group = groups, .used_at = map_now_s() };
        memset(map->free, 0xff, sizeof(map->free));
        map->free[0] &= ~map_fixed_bits(groups);
        *made = map;
        return 0;
}

/* ---- the own group ---- */

int page_group_add(struct xac_arena *arena, uint32_t groups)
{
        struct group_map *map;
        int err = page_group_append(arena, groups, &map);
        if (err)
                return err;
        map->owner = arena->token;
        arena->own_group = groups;
        return 0;
}

int page_group_make(struct xac_arena *arena)
{
        uint32_t groups;
        int err = page_group_count(arena, &groups);
        return err || groups ? err : page_group_add(arena, 0);
}

int page_group_own(struct xac_arena *arena, uint32_t group)
{
        struct group_map *map = arena_write(arena, map_of(group));
        if (!map)
                return ARENA_LOST;
        map->owner = arena->token;
        map->used_at = map_now_s();
        arena->own_group = group;
        return 0;
}

/* A clock that was set back makes groups deserted, which is harmless. */
static bool is_deserted(const struct xac_arena *arena, const struct group_map *map)
{
        return map_now_s() - map->used_at > DESERTED_S || (arena->env && !xac_alive(arena->env, map->owner));
}

bool page_group_is_quiet(const struct xac_arena *arena, const struct group_map *map)
{
        return !map->owner || map->owner == arena->token || is_deserted(arena, map);
}

/* One that is this arena's already was let go in a transaction that was aborted. */
bool page_group_may_own(const struct xac_arena *arena, const struct group_map *map)
{
        const unsigned room = map ? map_count_free(map) : 0;
        return room && (room >= ROOM_MIN || map->owner == arena->token) && page_group_is_quiet(arena, map);
}

uint32_t page_group_next(struct xac_arena *arena, uint32_t groups, uint32_t tried)
{
        return groups > GROUP_PROBES ? (uint32_t)(arena_random(arena) % groups) : tried;
}

/* Owns a group with room that is nobody else's; own_group stays NO_GROUP when none was found. */
static int group_probe(struct xac_arena *arena, uint32_t groups)
{
        for (uint32_t i = 0; i < GROUP_PROBES && i < groups; i++) {
                const struct group_map *map;
                uint32_t group = page_group_next(arena, groups, i);
                int err = page_group_look(arena, group, &map);
                if (err)
                        return err;
                if (page_group_may_own(arena, map))
                        return page_group_own(arena, group);
        }
        return 0;
}

/* When the arena cannot grow, for the reason `err`: owns a group with any room, whosever it is. */
static int group_find_any(struct xac_arena *arena, uint32_t groups, int err)
{
        for (uint32_t group = 0; group < groups; group++) {
                const struct group_map *map;
                int bad = page_group_look(arena, group, &map);
                if (bad)
                        return bad;
                if (map && map_has_free(map))
                        return page_group_own(arena, group);
        }
        return err;
}

int page_group_find(struct xac_arena *arena)
{
        uint32_t groups;
        int err = page_group_count(arena, &groups);
        if (!err)
                err = group_probe(arena, groups);
        if (err || arena->own_group != NO_GROUP)
                return err;
        err = page_group_add(arena, groups);
        if (!err || err == ARENA_LOST || err == XAC_CORRUPT)
                return err;
        return group_find_any(arena, groups, err);
}

int page_group_check_own(struct xac_arena *arena)
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

int page_group_leave(struct xac_arena *arena)
{
        if (arena->own_group == NO_GROUP)
                return 0;
        int err = page_group_check_own(arena);
        if (err || arena->own_group == NO_GROUP)
                return err;
        struct group_map *map = arena_write(arena, map_of(arena->own_group));
        if (!map)
                return ARENA_LOST;
        map->owner = 0;
        arena->own_group = NO_GROUP;
        return 0;
}
