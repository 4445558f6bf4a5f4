/* SPDX-License-Identifier: MIT */
#include "pages/page_trim.h"

#include "base/zeros.h"
#include "pages/page_group.h"

/* One transaction: the free pages that one word of a map names. */
struct part {
        struct xac_arena *arena;
        uint32_t group;
        unsigned word;
        uint64_t cleared; /* pages, in the try that counts */
};

static int clear_if_used(struct xac_arena *arena, page_no page, uint64_t *cleared)
{
        const void *bytes = arena_read(arena, page);
        if (!bytes)
                return ARENA_LOST;
        if (are_zeros(bytes, arena->page_bytes))
                return 0;
        ++*cleared;
        return arena_clear(arena, page);
}

static int clear_part(void *part_)
{
        struct part *part = part_;
        const struct group_map *map;
        part->cleared = 0;
        int err = page_group_look(part->arena, part->group, &map);
        if (err || !map) /* part of what another group holds */
                return err;
        const page_no first = map_of(part->group) + part->word * 64;
        for (uint64_t free = map->free[part->word]; free && !err; free &= free - 1)
                err = clear_if_used(part->arena, first + (page_no)__builtin_ctzll(free), &part->cleared);
        return err;
}

static int trim_group(struct xac_arena *arena, uint32_t group, uint64_t *trimmed)
{
        struct part part = { .arena = arena, .group = group };
        int err = 0;
        for (; part.word < MAP_WORDS && !err; part.word++) {
                err = arena_run(arena, XAC_NOSYNC, clear_part, &part);
                if (!err)
                        *trimmed += part.cleared << arena->page_shift;
        }
        return err;
}

struct count {
        struct xac_arena *arena;
        uint32_t groups;
};

static int count_groups(void *count_)
{
        struct count *count = count_;
        return page_group_count(count->arena, &count->groups);
}

int page_trim(struct xac_arena *arena, int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
              uint64_t *trimmed)
{
        struct count count = { .arena = arena };
        uint64_t unwanted;
        if (!trimmed)
                trimmed = &unwanted;
        *trimmed = 0;
        if (arena->snapshot)
                return XAC_WROTE;
        const uint64_t group_bytes = (uint64_t)GROUP_PAGES << arena->page_shift;
        int err = arena_run(arena, XAC_RDONLY, count_groups, &count);
        for (uint32_t group = 0; group < count.groups && !err; group++) {
                err = trim_group(arena, group, trimmed);
                if (!err && progress)
                        err = progress(arg, (group + 1) * group_bytes, count.groups * group_bytes);
        }
        return err;
}
