/* SPDX-License-Identifier: MIT */
#ifndef TREES_PMA_H
#define TREES_PMA_H

/*
 * A packed memory array whose elements are pages: which places of an extent are used, and which pages have to move
 * where so that there is a gap behind a given one. Only arithmetic on a set of bits: knows no page and no key.
 *
 * Where a gap is near, the pages up to it move along by one place. Otherwise a window is spread out. Windows are runs
 * of 2^k places, aligned to their size. One of them may have so many used places, one more reckoned in:
 *
 *      k = 5      28 of 32          ...          k = 9      409 of 512
 *
 * and linearly in between. It is the smallest window around the full page that is within its bound. Its gaps lie
 * together, one place with gaps for about PMA_RUN places, and the pages between are side by side:
 *
 *      | 1 2 3 4 5 6 7 8 . . . . 9 10 11 12 13 14 15 . . . . |
 *
 * For a scan goes through memory at full speed only while page follows page, and begins anew behind each gap, however
 * wide that is; and what a longer way to the next gap costs, a move for each page, is little. A quarter of the gaps
 * comes directly behind the page that was full, for that is where the next insert may come; all of them where it is
 * known that more pages are going to come there (M. Bender, H. Hu, "An adaptive packed-memory array", 2006).
 *
 * The moves are in an order in which each one goes to a place that is free by then and passes no other page: after any
 * number of them the pages are in order.
 */

#include <stdbool.h>
#include <stdint.h>

enum { PMA_PLACES = 512, PMA_WORDS = PMA_PLACES / 64, PMA_RUN = 32 };

struct pma_map {
        uint64_t used[PMA_WORDS]; /* bit i: place i */
};

struct pma_move {
        uint16_t from, to;
};

struct pma_plan {
        uint16_t begin, end; /* the window: places from begin to before end */
        uint16_t hot;        /* where the page that was full will be; the place behind it is free then */
        uint16_t count;
        struct pma_move moves[PMA_PLACES];
};

/* Room behind the page at `hot`, among the first `places` places. False: every window around it is too full. is_trend:
 * more pages are going to come there, so that windows are not the smallest, and all gaps come behind that page. */
bool pma_plan_room(const struct pma_map *map, unsigned places, unsigned hot, bool is_trend, struct pma_plan *plan);

/* The same by moving pages along up to the nearest gap, `reach` of them at most. False: it is further away. */
bool pma_plan_near(const struct pma_map *map, unsigned places, unsigned hot, unsigned reach, struct pma_plan *plan);

/* Where the i-th of `count` pages is that are spread over `places` places: as runs with gaps between them. */
static inline unsigned pma_spread(unsigned places, unsigned count, unsigned i)
{
        const unsigned runs = places > PMA_RUN ? places / PMA_RUN : 1;
        return i + (places - count) * (i * runs / count) / runs;
}
/* All pages spread, as if there were some more before the first one and behind the last one: for those
 * there is room then. Those stay that are there but for so many places. There is no hot one. */
void pma_plan_shift(const struct pma_map *map, unsigned places, unsigned before, unsigned behind, unsigned tolerance,
                    struct pma_plan *plan);

/* How many of the places from begin to before end are used. */
unsigned pma_count(const struct pma_map *map, unsigned begin, unsigned end);
/* The first used place that is not before i, the last one that is not behind i; PMA_PLACES: there is none. */
unsigned pma_next(const struct pma_map *map, unsigned i);
unsigned pma_previous(const struct pma_map *map, unsigned i);

static inline void pma_set(struct pma_map *map, unsigned i)
{
        map->used[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void pma_clear(struct pma_map *map, unsigned i)
{
        map->used[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static inline bool pma_is_used(const struct pma_map *map, unsigned i)
{
        return map->used[i / 64] >> (i % 64) & 1;
}

#endif
