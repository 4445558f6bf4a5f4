/* SPDX-License-Identifier: MIT */
#include "trees/cobindex.h"

/*
 * Room for segments, and none where there are too few. Each step looks at what is there:
 *
 *  0. Where segments have been split in order (`streak` of the extent), more are going to come at the same place. There
 *     the gaps of a window all come behind the full segment; and an extent that is nearly full is divided at that
 *     place, so that what stays behind is full, and what is ahead empty.
 *  1. A plan of few moves is carried out: pages move along up to a near gap, or a window is spread out (pma.h).
 *  2. Otherwise much is to be done, and a put does a step of that only:
 *     - a neighbour with clearly fewer used segments gets pages, those at the edge. If there is no room at its edge,
 *       its own pages move away from there first, where that pays;
 *     - or else an extent that has gaps enough is spread out, roughly, as others insert into it at the same time;
 *     - or else it gets an empty neighbour behind it.
 *     After that step (`turn` of the extent says that it was done) the put moves pages along up to the next gap, though
 *     it be further away. Where there is none for a long way the steps go on: with `turn` the spreading is exact, and
 *     so comes to an end. Of a division (0.) another `turn` says that it was begun, and that the pages ahead go.
 *
 * Nobody can be sure that a step is followed by the next one: whoever runs them may die, or others may come between. So
 * an extent may be added and then stay empty, even before all others (C2).
 */

#include <errno.h>

#include "trees/cobindex_extent.h"
#include "trees/cobindex_top.h"

enum {
        HAND_MOVES = 16,     /* pages that are handed over in a step, which writes two extents and the top */
        CLEARLY_FEWER = 5,   /* by so many parts of an extent */
        NEARLY_EMPTY = 8,    /* such a part of an extent is */
        ROOMY_PERCENT = 60,  /* more than that are not brought together */
        STEPS_AT_ONCE = 4,   /* a put waits for so many */
        REACH = 2 * PMA_RUN, /* pages that are moved along for a single gap: no run is longer that was spread exactly */
        NEARLY = 8,          /* places beside where a page is to be in the end */
        MANY = 48,
        WIDE = 3,           /* a window is that is larger than such a part of an extent */
        DENSE_PERCENT = 75, /* of an extent */
        FEW_MOVES = 2,
        FEW = 8,            /* such a part of an extent is few */
        DIVIDED = UINT8_MAX /* a turn */
};

static unsigned used_in(const struct extent *extent)
{
        return pma_count(extent_used(extent), 0, PMA_PLACES);
}

/* ---- within an extent ---- */

/* The places that some moves leave or take. */
static void moves_extend(const struct pma_move *moves, unsigned count, unsigned *begin, unsigned *end)
{
        *begin = PMA_PLACES;
        *end = 0;
        for (unsigned i = 0; i < count; i++) {
                const unsigned low = moves[i].from < moves[i].to ? moves[i].from : moves[i].to;
                const unsigned high = moves[i].from < moves[i].to ? moves[i].to : moves[i].from;
                *begin = low < *begin ? low : *begin;
                *end = high + 1U > *end ? high + 1U : *end;
        }
}

/* Moves of a plan, as many as one step may. */
static int move_step(struct extent *extent, const struct pma_plan *plan, struct cobindex_place *place)
{
        const unsigned count = plan->count < COBINDEX_STEP_MOVES ? plan->count : COBINDEX_STEP_MOVES;
        struct draft draft;
        unsigned begin, end;
        moves_extend(plan->moves, count, &begin, &end);
        int err = extent_load(extent, &draft, begin, end);
        for (unsigned i = 0; !err && i < count; i++) {
                const struct pma_move *move = &plan->moves[i];
                err = extent_move(extent, &draft, move->from, extent, &draft, move->to);
                if (place->group == extent->group && place->i == move->from)
                        place->i = move->to;
        }
        return err ? err : extent_store(extent, &draft);
}

/* ---- from an extent to its neighbour ---- */

/* Two extents side by side, and who gives. */
struct pair {
        struct top *top;
        struct extent *from, *to;
        uint32_t right; /* the number of the right one */
        bool is_upward; /* the left one gives */
        unsigned count; /* how many are to be handed over in the end */
        bool is_packed; /* and that without gaps between them */
};

/* Places that are free at the near edge of the one that gets pages. */
static unsigned edge_room(const struct pair *pair)
{
        const unsigned segments = pair->top->index->segments;
        const struct pma_map *used = extent_used(pair->to);
        if (pair->is_upward)
                return pma_next(used, 0) < segments ? pma_next(used, 0) : segments;
        unsigned last = pma_previous(used, PMA_PLACES - 1);
        return last < PMA_PLACES ? segments - 1 - last : segments;
}

static int make_edge_room(const struct pair *pair, struct cobindex_place *place)
{
        const unsigned segments = pair->top->index->segments;
        struct pma_plan plan;
        pma_plan_shift(extent_used(pair->to), segments, pair->is_upward ? pair->count : 0,
                       pair->is_upward ? 0 : pair->count, pair->count > MANY ? NEARLY : 0, &plan);
        return move_step(pair->to, &plan, place);
}

/* The pages at the edge, the outermost first, spread over the room at the other's edge; or packed, and all
 * room is behind the one at `place`. */
static int move_pages(const struct pair *pair, struct draft *from, struct draft *to, unsigned count,
                      struct cobindex_place *place)
{
        const struct cobindex *index = pair->top->index;
        const unsigned room = edge_room(pair);
        const uint32_t to_number = pair->is_upward ? pair->right : pair->right - 1;
        int err = 0;
        for (unsigned n = 0; !err && n < count; n++) {
                const unsigned distance = room > pair->count && !pair->is_packed ? pma_spread(room, pair->count, n) : n;
                const unsigned i =
                        pair->is_upward ? pma_previous(&from->used, PMA_PLACES - 1) : pma_next(&from->used, 0);
                const bool is_hot = place->group == pair->from->group && place->i == i;
                unsigned k = pair->is_upward ? room - 1 - distance : index->segments - room + distance;
                if (is_hot && pair->is_packed && pair->is_upward)
                        k = 0;
                err = extent_move(pair->from, from, i, pair->to, to, k);
                if (is_hot)
                        *place = (struct cobindex_place){ to_number, pair->to->group, k };
        }
        return err;
}

/* With the separator of the first segment, which stands in the top. */
static int load_whole(const struct pair *pair, struct extent *extent, struct draft *draft)
{
        const bool is_right = (extent == pair->to) == pair->is_upward;
        const uint32_t number = is_right ? pair->right : pair->right - 1;
        int err = extent_load_all(extent, draft);
        const unsigned first = pma_next(&draft->used, 0);
        if (err || first == PMA_PLACES)
                return err;
        if (number)
                return top_separator(pair->top, number, &draft->before[first]);
        separator_make_least(pair->top->index, &draft->before[first]);
        return 0;
}

/* What stood in the top goes into the extent where its segment is not the first one any more, and the other way round.
 *
 *      upward      | a b c d |T| e f |    becomes    | a b |C| c d T e f |
 *      downward    | a b |T| c d e f |    becomes    | a b T c d |E| e f |
 */
static int hand_over(const struct pair *pair, unsigned count, struct cobindex_place *place)
{
        struct draft from, to;
        struct separator at_edge;
        int err = load_whole(pair, pair->from, &from);
        if (!err)
                err = load_whole(pair, pair->to, &to);
        if (!err)
                err = top_separator(pair->top, pair->right, &at_edge);
        if (err)
                return err;
        err = move_pages(pair, &from, &to, count, place);
        if (err)
                return err;
        const struct draft *right = pair->is_upward ? &to : &from;
        const unsigned first = pma_next(&right->used, 0);
        if (first < PMA_PLACES)
                at_edge = right->before[first];
        err = extent_store(pair->to, &to);
        if (!err)
                err = extent_store(pair->from, &from);
        return err ? err : top_separate(pair->top, pair->right, &at_edge);
}

/* A step. The neighbour has room for all that is to be handed over. */
static int hand_over_step(const struct pair *pair, struct cobindex_place *place)
{
        const unsigned count = pair->count < HAND_MOVES ? pair->count : HAND_MOVES;
        if (edge_room(pair) < count)
                return make_edge_room(pair, place);
        return hand_over(pair, count, place);
}

/* The neighbour with the fewest used segments; UINT32_MAX: there is none. */
static int emptier_neighbour(const struct top *top, uint32_t number, struct extent *neighbour, uint32_t *its_number)
{
        unsigned least = PMA_PLACES + 1;
        *its_number = UINT32_MAX;
        for (uint32_t i = number ? number - 1 : 1; i <= number + 1 && i < top->extents; i += 2) {
                struct extent extent;
                int err = top_extent(top, i, &extent);
                if (err)
                        return err;
                if (used_in(&extent) >= least)
                        continue;
                least = used_in(&extent);
                *neighbour = extent;
                *its_number = i;
        }
        return 0;
}

/* ---- room ---- */

/* An empty extent behind this one. */
static int add_extent(struct top *top, uint32_t number)
{
        struct separator separator = separator_none;
        int err = number + 1 < top->extents ? top_separator(top, number + 1, &separator) : 0;
        return err ? err : top_insert(top, number + 1, &separator);
}

/* Clearly fewer are used there, and there is room at the edge; or so few that it pays to make some. */
static bool is_worth_handing(const struct pair *pair)
{
        const unsigned segments = pair->top->index->segments;
        const unsigned used = used_in(pair->from), its_used = used_in(pair->to);
        return its_used + segments / 2 <= used ||
               (its_used + segments / CLEARLY_FEWER <= used && edge_room(pair) >= HAND_MOVES);
}

/* A step of what will take many; `fits`: a plan for the segment, or NULL. */
static int balance_step(struct top *top, struct extent *extent, const struct pma_plan *fits,
                        struct cobindex_place *place)
{
        const unsigned segments = top->index->segments, used = used_in(extent);
        struct extent neighbour;
        struct pma_plan even;
        uint32_t number;
        int err = emptier_neighbour(top, place->extent, &neighbour, &number);
        if (err)
                return err;
        if (number != UINT32_MAX && used > segments / 2) {
                const bool is_upward = number > place->extent;
                const struct pair pair = { top,        extent,
                                           &neighbour, is_upward ? number : place->extent,
                                           is_upward,  (used - used_in(&neighbour)) / 2,
                                           false };
                if (is_worth_handing(&pair))
                        return hand_over_step(&pair, place);
        }
        if (!fits)
                return add_extent(top, place->extent);
        pma_plan_shift(extent_used(extent), segments, 0, 0, extent_turn(extent) ? 0 : NEARLY, &even);
        return move_step(extent, even.count ? &even : fits, place);
}

/* An empty extent before the place's one, or behind it; the number follows. */
static int add_beside(struct top *top, bool is_upward, struct cobindex_place *place)
{
        struct separator least;
        if (is_upward)
                return add_extent(top, place->extent);
        separator_make_least(top->index, &least);
        int err = place->extent ? add_extent(top, place->extent - 1) : top_insert(top, 0, &least);
        place->extent += !err;
        return err;
}

/*
 * Segments come one behind the other, upwards or downwards, and around the place where they do everything is full. The
 * extent is divided there, so that all gaps are behind that segment, s, again:
 *
 *      upwards, few behind        | a b c s d |      becomes    | a b c |   and   | s . . . . . d |
 *      upwards, many behind       | a s b c d |      becomes    | a s . . . |   and   | . . b c d |
 *      downwards, few before      | a s b c d |      becomes    | a s . . . . . |   and   | b c d |
 *      downwards, many before     | a b c s d |      becomes    | a b c . . |   and   | . . . s d |
 */
static int divide_step(struct top *top, struct extent *extent, enum cobindex_trend trend, struct cobindex_place *place)
{
        const unsigned few = top->index->segments / FEW;
        const bool is_upward = trend != COBINDEX_DOWNWARDS;
        const uint32_t number = is_upward ? place->extent + 1 : place->extent - 1;
        const unsigned outside = is_upward ? pma_count(extent_used(extent), place->i + 1, PMA_PLACES)
                                           : pma_count(extent_used(extent), 0, place->i);
        const bool is_few = outside <= few && (!outside || extent_turn(extent) != DIVIDED);
        struct extent neighbour;
        int err = extent_set_turn(extent, is_few ? 0 : DIVIDED);
        if (err)
                return err;
        if (number >= top->extents) /* before 0, too */
                return add_beside(top, is_upward, place);
        err = top_extent(top, number, &neighbour);
        if (err)
                return err;
        const uint32_t right = is_upward ? number : place->extent;
        const struct pair pair = { top, extent, &neighbour, right, is_upward, outside + is_few, true };
        if (edge_room(&pair) < pair.count + (is_few ? few : 0))
                return add_beside(top, is_upward, place);
        return hand_over_step(&pair, place);
}

/* Where there is a plan: a division that was begun goes on; and no extent is spread out that will be full soon after.
 */
static bool is_to_be_divided(const struct extent *extent, const struct pma_plan *plan)
{
        const unsigned segments = extent->index->segments;
        if (plan->count <= FEW_MOVES)
                return false;
        return extent_turn(extent) == DIVIDED ||
               (plan->end - plan->begin > (int)segments / WIDE && used_in(extent) > segments * DENSE_PERCENT / 100);
}

/* Where segments are split in order. -ENOSPC: for that another extent is needed. */
static int make_room_in_order(struct top *top, struct extent *extent, struct cobindex_place *place,
                              enum cobindex_trend trend)
{
        struct pma_plan plan;
        const bool fits = pma_plan_room(extent_used(extent), top->index->segments, place->i, true, &plan);
        int err = 0;
        if (!fits || is_to_be_divided(extent, &plan)) {
                err = divide_step(top, extent, trend, place);
                return err ? err : -EAGAIN;
        }
        err = move_step(extent, &plan, place);
        return err || plan.count <= COBINDEX_STEP_MOVES ? err : -EAGAIN;
}

/* Much is to be done. A put does a step of it, and then moves pages along up to the next gap, if that can be done in
 * another step: it need not wait for all. `turn` tells how many steps were done; a division that was begun does not go
 * on. */
static int make_room_slowly(struct top *top, struct extent *extent, const struct pma_plan *fits,
                            struct cobindex_place *place, enum cobindex_trend trend)
{
        const unsigned segments = top->index->segments, turn = extent_turn(extent);
        const bool is_last = place->extent + 1 == top->extents && place->i + 1 == segments;
        struct pma_plan near;
        if (trend == COBINDEX_AT_END && is_last && used_in(extent) > segments / 2)
                return top_insert(top, top->extents, &separator_none);
        if (turn && pma_plan_near(extent_used(extent), segments, place->i, REACH, &near)) {
                int err = move_step(extent, &near, place);
                if (err || near.count > COBINDEX_STEP_MOVES)
                        return err ? err : -EAGAIN;
                return extent_set_turn(extent, 0);
        }
        int err = balance_step(top, extent, fits, place);
        if (!err && turn + 1 != DIVIDED)
                err = extent_set_turn(extent, turn == DIVIDED ? 1 : turn + 1);
        return err ? err : -EAGAIN;
}

int cobindex_make_room(const struct cobindex *index, struct cobindex_place *place, enum cobindex_trend trend)
{
        struct top top;
        struct extent extent;
        struct pma_plan plan;
        struct cobindex_place behind;
        bool is_free;
        int err = cobindex_place_behind(index, *place, trend, &behind, &is_free);
        if (err || is_free)
                return err;
        err = top_open(index, &top);
        if (!err)
                err = extent_open(index, place->group, &extent);
        if (!err && (place->extent >= top.extents || place->i >= index->segments ||
                     !pma_is_used(extent_used(&extent), place->i)))
                err = XAC_CORRUPT;
        if (err)
                return err;
        if ((trend == COBINDEX_UPWARDS || trend == COBINDEX_DOWNWARDS) && extent_is_in_order(&extent)) {
                err = make_room_in_order(&top, &extent, place, trend);
                if (err != -ENOSPC)
                        return err;
        }
        const bool fits = pma_plan_room(extent_used(&extent), index->segments, place->i, false, &plan);
        if (!fits || plan.end - plan.begin == (int)index->segments || plan.count > STEPS_AT_ONCE * COBINDEX_STEP_MOVES)
                return make_room_slowly(&top, &extent, fits ? &plan : NULL, place, trend);
        err = move_step(&extent, &plan, place);
        return err || plan.count <= COBINDEX_STEP_MOVES ? err : -EAGAIN;
}

/* ---- too much room ---- */

static int remove_extent(struct top *top, uint32_t number, struct extent *extent)
{
        int err = top_remove(top, number);
        return err ? err : extent_drop(extent);
}

int cobindex_shrink(const struct cobindex *index, uint32_t number)
{
        struct top top;
        struct extent extent, neighbour;
        struct cobindex_place nobody = { 0, NO_GROUP, 0 };
        uint32_t its_number;
        int err = top_open(index, &top);
        if (err || number >= top.extents || top.extents == 1)
                return err;
        err = top_extent(&top, number, &extent);
        if (err)
                return err;
        const unsigned used = used_in(&extent);
        if (!used)
                return remove_extent(&top, number, &extent);
        if (used > index->segments / NEARLY_EMPTY)
                return 0;
        err = emptier_neighbour(&top, number, &neighbour, &its_number);
        if (err || its_number == UINT32_MAX || used + used_in(&neighbour) > index->segments * ROOMY_PERCENT / 100)
                return err;
        const bool is_upward = its_number > number;
        const struct pair pair = { &top, &extent, &neighbour, is_upward ? its_number : number, is_upward, used, false };
        err = hand_over_step(&pair, &nobody);
        if (!err && !used_in(&extent))
                return remove_extent(&top, number, &extent);
        return err ? err : -EAGAIN;
}
