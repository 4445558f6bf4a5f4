/* SPDX-License-Identifier: MIT */
#ifndef PAGES_PAGE_MAP_H
#define PAGES_PAGE_MAP_H

/*
 * The pages that page_group.c and page_alloc.c write, and what can be told from one of them alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "pages/arena.h"

enum { MAP_WORDS = GROUP_PAGES / 64, TREE_ID_MIN = 2 /* 1: the catalog's */ };

/* The first page of each group. */
struct group_map {
        uint8_t kind; /* PAGE_IS_MAP */
        uint8_t zero[3];
        uint32_t group;
        uint64_t owner;   /* token of the arena that takes pages here; 0: none */
        uint32_t used_at; /* when it last did: seconds, modulo 2^32 */
        uint32_t zero_too;
        uint64_t free[MAP_WORDS]; /* 1: free */
};

struct arena_header {
        uint8_t kind; /* PAGE_IS_HEADER */
        uint8_t zero[3];
        uint32_t page_bytes;
        uint64_t magic;
        uint32_t groups;
        uint32_t not_groups; /* ~groups, so that damage is noticed before the file is made as long as it says */
        uint32_t next_tree_id;
        uint32_t zero_too;
        uint64_t covered[]; /* to the end of the page: bit g: group g has no map, but is part of what the one before
                               holds */
};

static inline bool header_is_sound(const struct xac_arena *arena, const struct arena_header *header)
{
        return header->kind == PAGE_IS_HEADER && header->magic == arena->magic &&
               header->page_bytes == arena->page_bytes && header->groups && header->groups == ~header->not_groups &&
               header->next_tree_id >= TREE_ID_MIN;
}

/* Nothing was ever written, and not only to the first byte. */
static inline bool header_is_fresh(const struct arena_header *header)
{
        static const struct arena_header fresh;
        return !memcmp(header, &fresh, sizeof(fresh));
}

/* The groups that can be covered: those for which there are bits. */
static inline uint32_t header_can_cover(uint32_t page_bytes)
{
        return (page_bytes - (uint32_t)sizeof(struct arena_header)) / 8 * 64;
}

static inline bool header_covers(const struct arena_header *header, uint32_t group, uint32_t page_bytes)
{
        return group < header_can_cover(page_bytes) && header->covered[group / 64] >> group % 64 & 1;
}

/* How many groups are covered from this one on, side by side. */
static inline uint32_t header_count_covered(const struct arena_header *header, uint32_t group, uint32_t page_bytes)
{
        const uint32_t end = header_can_cover(page_bytes);
        uint32_t at = group;
        while (at < end) {
                const uint64_t others = ~header->covered[at / 64] >> at % 64;
                if (others)
                        return at + (uint32_t)__builtin_ctzll(others) - group;
                at = (at / 64 + 1) * 64;
        }
        return at - group;
}

static inline void header_set_covered(struct arena_header *header, uint32_t group, bool is_covered)
{
        const uint64_t bit = UINT64_C(1) << group % 64;
        header->covered[group / 64] =
                is_covered ? header->covered[group / 64] | bit : header->covered[group / 64] & ~bit;
}

static inline uint32_t group_of(page_no page)
{
        return page / GROUP_PAGES;
}

static inline page_no map_of(uint32_t group)
{
        return group * GROUP_PAGES;
}

/* Those of the group's first pages that are never free. */
static inline uint64_t map_fixed_bits(uint32_t group)
{
        return group ? 1 : (1 << PAGES_FIXED) - 1;
}

static inline bool map_is_sound(const struct group_map *map, uint32_t group)
{
        return map->kind == PAGE_IS_MAP && map->group == group && !(map->free[0] & map_fixed_bits(group));
}

static inline bool map_has_free(const struct group_map *map)
{
        uint64_t any = 0;
        for (unsigned i = 0; i < MAP_WORDS; i++)
                any |= map->free[i];
        return any != 0;
}

static inline unsigned map_count_free(const struct group_map *map)
{
        unsigned count = 0;
        for (unsigned i = 0; i < MAP_WORDS; i++)
                count += (unsigned)__builtin_popcountll(map->free[i]);
        return count;
}

static inline uint32_t map_now_s(void)
{
        return (uint32_t)time(NULL);
}

/* Whether all pages are free that can be. */
static inline bool map_is_empty(const struct group_map *map)
{
        return map_count_free(map) == GROUP_PAGES - 1 && map->group;
}

static inline bool map_says_free(const struct group_map *map, page_no page)
{
        return map->free[page % GROUP_PAGES / 64] >> page % 64 & 1;
}

static inline void map_set_free(struct group_map *map, page_no page)
{
        map->free[page % GROUP_PAGES / 64] |= UINT64_C(1) << page % 64;
}

static inline void map_set_taken(struct group_map *map, page_no page)
{
        map->free[page % GROUP_PAGES / 64] &= ~(UINT64_C(1) << page % 64);
}

/* The lowest place where `count` free pages lie side by side; GROUP_PAGES: there is none. */
static inline unsigned map_find_run(const struct group_map *map, size_t count)
{
        unsigned first = 0, at = 0;
        for (; at < GROUP_PAGES && at - first < count; at++) {
                if (!map->free[at / 64])
                        at |= 63; /* none of these 64 is */
                if (!map_says_free(map, at))
                        first = at + 1;
        }
        return at - first == count ? first : GROUP_PAGES;
}

/* Takes the lowest free pages, up to `count`; how many there were. */
static inline size_t map_take(struct group_map *map, page_no *pages, size_t count)
{
        size_t taken = 0;
        for (unsigned i = 0; i < MAP_WORDS; i++) {
                for (; taken < count && map->free[i]; map->free[i] &= map->free[i] - 1)
                        pages[taken++] = map_of(map->group) + 64 * i + (unsigned)__builtin_ctzll(map->free[i]);
        }
        return taken;
}

#endif
