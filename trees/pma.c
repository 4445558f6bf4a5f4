/* SPDX-License-Identifier: MIT */
#include "trees/pma.h"

#include <assert.h>

enum {
        LEVELS = 9,
        FULL = 1000,
        FULL_EXTENT = 800, /* per mille that may be used, of a smallest window and of all */
        NEAR = 20,         /* pages that are moved along for a single gap */
        NEAR_TREND = 2,    /* likewise, where more are going to come */
        LEVEL_LEAST = 5    /* windows are not smaller */
};

/* ---- the set of bits ---- */

/* Bits from `begin` on within a word, and those before `end`. */
static uint64_t bits_from(unsigned begin)
{
        return ~UINT64_C(0) << begin % 64;
}

static uint64_t bits_before(unsigned end)
{
        return ~(~UINT64_C(0) << end % 64);
}

unsigned pma_count(const struct pma_map *map, unsigned begin, unsigned end)
{
        unsigned count = 0;
        if (begin >= end)
                return 0;
        for (unsigned word = begin / 64; word <= (end - 1) / 64; word++) {
                uint64_t bits = map->used[word];
                if (word == begin / 64)
                        bits &= bits_from(begin);
                if (word == end / 64)
                        bits &= bits_before(end);
                count += (unsigned)__builtin_popcountll(bits);
        }
        return count;
}

unsigned pma_next(const struct pma_map *map, unsigned i)
{
        if (i >= PMA_PLACES)
                return PMA_PLACES;
        unsigned word = i / 64;
        uint64_t bits = map->used[word] & bits_from(i);
        while (!bits && ++word < PMA_WORDS)
                bits = map->used[word];
        return bits ? 64 * word + (unsigned)__builtin_ctzll(bits) : PMA_PLACES;
}

unsigned pma_previous(const struct pma_map *map, unsigned i)
{
        if (i >= PMA_PLACES)
                return PMA_PLACES;
        unsigned word = i / 64;
        uint64_t bits = map->used[word] << (63 - i % 64) >> (63 - i % 64);
        while (!bits && word)
                bits = map->used[--word];
        return bits ? 64 * word + 63 - (unsigned)__builtin_clzll(bits) : PMA_PLACES;
}

/* ---- plans ---- */

/* Where the pages of a window are, and where they are to be; by their rank. */
struct layout {
        unsigned count;
        uint16_t from[PMA_PLACES], to[PMA_PLACES];
};

static void layout_read(struct layout *layout, const struct pma_map *map, unsigned begin, unsigned end)
{
        layout->count = 0;
        for (unsigned i = pma_next(map, begin); i < end; i = pma_next(map, i + 1))
                layout->from[layout->count++] = (uint16_t)i;
}

/* Those that move up, the last one first; then those that move down, the first one first. A page that moves up finds no
 * other on its way: those behind it are as far as they go, or go to where it does not come; likewise downwards. */
static void plan_moves(struct pma_plan *plan, const struct layout *layout)
{
        plan->count = 0;
        for (unsigned i = layout->count; i-- > 0;)
                if (layout->to[i] > layout->from[i])
                        plan->moves[plan->count++] = (struct pma_move){ layout->from[i], layout->to[i] };
        for (unsigned i = 0; i < layout->count; i++)
                if (layout->to[i] < layout->from[i])
                        plan->moves[plan->count++] = (struct pma_move){ layout->from[i], layout->to[i] };
}

/* Whether one more may be used of a window of 2^k places, of which there are `size` only at the end of the extent. */
static bool is_within_bound(unsigned k, unsigned size, unsigned used)
{
        const unsigned bound = FULL - (FULL - FULL_EXTENT) * (k - 1) / (LEVELS - 1);
        return used + 1 <= size * bound / FULL;
}

/* A quarter of the gaps behind the page at `hot`, the others everywhere; or all there. */
static void plan_window(const struct pma_map *map, unsigned hot, bool is_trend, struct pma_plan *plan)
{
        struct layout layout;
        layout_read(&layout, map, plan->begin, plan->end);
        const unsigned places = plan->end - plan->begin, gaps = places - layout.count;
        const unsigned behind = gaps > 1 && !is_trend ? gaps / 4 + 1 : gaps;
        unsigned skipped = 0;
        for (unsigned i = 0; i < layout.count; i++) {
                layout.to[i] = (uint16_t)(plan->begin + pma_spread(places - behind, layout.count, i) + skipped);
                if (layout.from[i] == hot) {
                        plan->hot = layout.to[i];
                        skipped = behind;
                }
        }
        plan_moves(plan, &layout);
}

/* The pages between the one at `hot` and the gap at `gap` move along by one place. */
static void plan_near(unsigned hot, unsigned gap, struct pma_plan *plan)
{
        plan->count = 0;
        plan->begin = (uint16_t)(gap < hot ? gap : hot);
        plan->end = (uint16_t)((gap < hot ? hot : gap) + 1);
        plan->hot = (uint16_t)(gap < hot ? hot - 1 : hot);
        for (; gap > hot + 1; gap--)
                plan->moves[plan->count++] = (struct pma_move){ (uint16_t)(gap - 1), (uint16_t)gap };
        for (; gap < hot; gap++)
                plan->moves[plan->count++] = (struct pma_move){ (uint16_t)(gap + 1), (uint16_t)gap };
}

/* The nearest gap, if so few pages are up to there; PMA_PLACES: it is further. */
static unsigned find_near(const struct pma_map *map, unsigned places, unsigned hot, unsigned reach)
{
        for (unsigned distance = 1; distance <= reach; distance++) {
                if (hot + distance + 1 < places && !pma_is_used(map, hot + distance + 1))
                        return hot + distance + 1;
                if (distance <= hot && !pma_is_used(map, hot - distance))
                        return hot - distance;
        }
        return PMA_PLACES;
}

bool pma_plan_near(const struct pma_map *map, unsigned places, unsigned hot, unsigned reach, struct pma_plan *plan)
{
        const unsigned gap = find_near(map, places, hot, reach);
        if (gap < PMA_PLACES)
                plan_near(hot, gap, plan);
        return gap < PMA_PLACES;
}

/* The page goes to the other end of a gap directly before it. */
static bool plan_slide(const struct pma_map *map, unsigned hot, struct pma_plan *plan)
{
        if (!hot || pma_is_used(map, hot - 1))
                return false;
        const unsigned before = pma_previous(map, hot - 1);
        const unsigned to = before < PMA_PLACES ? before + 1 : 0;
        plan->begin = plan->hot = (uint16_t)to;
        plan->end = (uint16_t)(hot + 1);
        plan->count = 1;
        plan->moves[0] = (struct pma_move){ (uint16_t)hot, (uint16_t)to };
        return true;
}

bool pma_plan_room(const struct pma_map *map, unsigned places, unsigned hot, bool is_trend, struct pma_plan *plan)
{
        assert(places <= PMA_PLACES && hot < places && pma_is_used(map, hot));
        if (is_trend && plan_slide(map, hot, plan))
                return true;
        if (pma_plan_near(map, places, hot, is_trend ? NEAR_TREND : NEAR, plan))
                return true;
        for (unsigned k = LEVEL_LEAST; k <= LEVELS; k++) {
                const unsigned begin = hot >> k << k;
                const unsigned end = begin + (1U << k) < places ? begin + (1U << k) : places;
                if (is_within_bound(k, end - begin, pma_count(map, begin, end))) {
                        plan->begin = (uint16_t)begin;
                        plan->end = (uint16_t)end;
                        plan_window(map, hot, is_trend, plan);
                        return true;
                }
        }
        return false;
}

/* A page that is nearly where it is to be stays, and none goes where the next one has stayed. */
static void be_tolerant(struct layout *layout, unsigned places, unsigned tolerance)
{
        unsigned end = places;
        for (unsigned i = layout->count; i-- > 0;) {
                const unsigned from = layout->from[i], to = layout->to[i];
                unsigned place = from + tolerance < to || to + tolerance < from ? to : from;
                layout->to[i] = (uint16_t)(place < end ? place : end - 1);
                end = layout->to[i];
        }
}

void pma_plan_shift(const struct pma_map *map, unsigned places, unsigned before, unsigned behind, unsigned tolerance,
                    struct pma_plan *plan)
{
        struct layout layout;
        layout_read(&layout, map, 0, places);
        const unsigned count = before + layout.count + behind;
        assert(places <= PMA_PLACES && count <= places);
        plan->begin = 0;
        plan->end = (uint16_t)places;
        plan->hot = PMA_PLACES;
        for (unsigned i = 0; i < layout.count; i++)
                layout.to[i] = (uint16_t)pma_spread(places, count, before + i);
        be_tolerant(&layout, places, tolerance);
        plan_moves(plan, &layout);
}
