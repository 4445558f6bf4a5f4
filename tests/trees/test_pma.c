/* SPDX-License-Identifier: MIT */
#include "trees/pma.h"

/*
 * Plans are carried out on pages with names, and judged after each move.
 */

#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { NOBODY = 0 };

static struct chance chance;
static struct pma_map map;
static unsigned names[PMA_PLACES]; /* of the page at each place, ascending; NOBODY */

static void make_map(unsigned places, unsigned percent)
{
        unsigned name = NOBODY;
        memset(&map, 0, sizeof(map));
        memset(names, 0, sizeof(names));
        for (unsigned i = 0; i < places; i++) {
                if (!chance_percent(&chance, percent))
                        continue;
                pma_set(&map, i);
                names[i] = ++name;
        }
}

/* Some runs that are full, some that are empty. */
static void make_lumpy_map(unsigned places)
{
        make_map(places, 50);
        for (unsigned i = 0; i < places;) {
                unsigned end = i + 1 + (unsigned)chance_below(&chance, 80);
                bool is_full = chance_percent(&chance, 60);
                for (; i < end && i < places; i++) {
                        if (is_full)
                                pma_set(&map, i);
                        else if (chance_percent(&chance, 80))
                                pma_clear(&map, i);
                }
        }
        unsigned name = NOBODY;
        for (unsigned i = 0; i < PMA_PLACES; i++)
                names[i] = pma_is_used(&map, i) ? ++name : NOBODY;
}

static void check_order(void)
{
        unsigned last = NOBODY;
        for (unsigned i = 0; i < PMA_PLACES; i++) {
                check((names[i] != NOBODY) == pma_is_used(&map, i));
                if (names[i] == NOBODY)
                        continue;
                check(names[i] == last + 1);
                last = names[i];
        }
}

/* Carries out so many moves, and looks at all pages after each one. */
static void carry_out(const struct pma_plan *plan, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                const unsigned from = plan->moves[i].from, to = plan->moves[i].to;
                check(from >= plan->begin && from < plan->end && to >= plan->begin && to < plan->end);
                check(pma_is_used(&map, from) && !pma_is_used(&map, to));
                pma_clear(&map, from);
                pma_set(&map, to);
                names[to] = names[from];
                names[from] = NOBODY;
                check_order();
        }
}

/* ---- counting ---- */

static void bits_are_counted_and_found(void)
{
        chance.state = chance_seed();
        for (int round = 0; round < 200; round++) {
                make_map(PMA_PLACES, (unsigned)chance_below(&chance, 101));
                for (int i = 0; i < 50; i++) {
                        unsigned begin = (unsigned)chance_below(&chance, PMA_PLACES + 1);
                        unsigned end = begin + (unsigned)chance_below(&chance, PMA_PLACES + 1 - begin);
                        unsigned count = 0, next = begin, previous = begin;
                        for (unsigned k = begin; k < end; k++)
                                count += pma_is_used(&map, k);
                        check_equal(pma_count(&map, begin, end), count);
                        while (next < PMA_PLACES && !pma_is_used(&map, next))
                                next++;
                        check_equal(pma_next(&map, begin), next);
                        if (begin == PMA_PLACES)
                                continue;
                        while (previous < PMA_PLACES && !pma_is_used(&map, previous))
                                previous = previous ? previous - 1 : PMA_PLACES;
                        check_equal(pma_previous(&map, begin), previous);
                }
        }
}

/* ---- room ---- */

static unsigned bound_of(unsigned k, unsigned size)
{
        return size * (1000 - 25 * (k - 1)) / 1000;
}

/* No gap within twenty pages, or two where there is a trend, and every window too full. */
static void check_no_plan(unsigned places, unsigned hot, bool is_trend)
{
        const unsigned near = is_trend ? 2 : 20;
        for (unsigned i = hot > near ? hot - near : 0; i <= hot + near + 1 && i < places; i++)
                check(pma_is_used(&map, i));
        for (unsigned k = 5; k <= 9; k++) {
                unsigned begin = hot >> k << k;
                unsigned end = begin + (1U << k) < places ? begin + (1U << k) : places;
                check(pma_count(&map, begin, end) + 1 > bound_of(k, end - begin));
        }
}

/* The window is a gap directly before the full page, a short one up to a near gap, or the smallest aligned one within
 * its bound. */
static void check_window(const struct pma_plan *plan, unsigned places, unsigned hot, bool is_trend)
{
        check(hot >= plan->begin && hot < plan->end && plan->end <= places);
        if (plan->end - plan->begin <= (is_trend ? 4 : 22) || plan->count == 1)
                return;
        for (unsigned k = 5; k <= 9; k++) {
                unsigned begin = hot >> k << k;
                unsigned end = begin + (1U << k) < places ? begin + (1U << k) : places;
                bool is_within = pma_count(&map, begin, end) + 1 <= bound_of(k, end - begin);
                check(is_within == (begin == plan->begin && end == plan->end));
                if (is_within)
                        return;
        }
        check(false);
}

static unsigned choose_hot(unsigned places)
{
        unsigned hot = pma_next(&map, (unsigned)chance_below(&chance, places));
        return hot < PMA_PLACES ? hot : pma_next(&map, 0);
}

static void plan_room(unsigned places, bool is_trend)
{
        struct pma_plan plan;
        unsigned hot = choose_hot(places);
        if (hot == PMA_PLACES)
                return;
        const unsigned name = names[hot];
        if (hot + 1 < places && !pma_is_used(&map, hot + 1))
                return; /* nobody asks */
        if (!pma_plan_room(&map, places, hot, is_trend, &plan)) {
                check_no_plan(places, hot, is_trend);
                return;
        }
        check_window(&plan, places, hot, is_trend);
        carry_out(&plan, plan.count);
        check_equal(names[plan.hot], name);
        check(plan.hot + 1U < plan.end && !pma_is_used(&map, plan.hot + 1U));
}

static void there_is_room_behind_the_full_page(void)
{
        static const unsigned sizes[] = { 512, 509, 506, 510, 300, 17 };
        chance.state = chance_seed();
        for (int round = 0; round < 20000; round++) {
                unsigned places = sizes[chance_below(&chance, 6)];
                if (chance_percent(&chance, 50))
                        make_lumpy_map(places);
                else
                        make_map(places, 60 + (unsigned)chance_below(&chance, 41));
                plan_room(places, chance_percent(&chance, 50));
        }
}

/* Plans that are begun, and planned again from what is there then, come to an end. */
static void a_plan_that_is_cut_short_goes_on(void)
{
        enum { STEP = 20, STEPS_MAX = 60 };
        chance.state = chance_seed();
        for (int round = 0; round < 5000; round++) {
                struct pma_plan plan;
                make_lumpy_map(509);
                unsigned hot = choose_hot(509), steps = 0;
                const bool is_trend = chance_percent(&chance, 50);
                if (hot == PMA_PLACES)
                        continue;
                for (; hot + 1 >= 509 || pma_is_used(&map, hot + 1); steps++) {
                        const unsigned name = names[hot];
                        check(steps < STEPS_MAX);
                        if (!pma_plan_room(&map, 509, hot, is_trend, &plan))
                                break;
                        carry_out(&plan, plan.count < STEP ? plan.count : STEP);
                        for (hot = 0; names[hot] != name;)
                                hot++;
                }
        }
}

/* A quarter of the gaps of a window are behind the page that was full; the others lie together, too. */
static void gaps_are_where_inserts_are(void)
{
        enum { USED = 50, HOT = 25, WINDOW = 64, GAPS = WINDOW - USED };
        struct pma_plan plan;
        memset(&map, 0, sizeof(map));
        for (unsigned i = 0; i < USED; i++)
                pma_set(&map, i);
        check(pma_plan_room(&map, 512, HOT, false, &plan));
        check_equal(plan.begin, 0);
        check_equal(plan.end, WINDOW);
        for (unsigned i = 0; i < plan.count; i++) {
                pma_clear(&map, plan.moves[i].from);
                pma_set(&map, plan.moves[i].to);
        }
        unsigned behind = pma_next(&map, plan.hot + 1U) - plan.hot - 1;
        check(behind >= GAPS / 4 && behind <= GAPS / 4 + 2);
        for (unsigned i = pma_next(&map, 0), next; (next = pma_next(&map, i + 1)) < PMA_PLACES; i = next)
                check(i == plan.hot || next - i == 1);
}

/* Runs of about PMA_RUN places, each with its gap behind it. */
static void gaps_lie_together(void)
{
        for (unsigned places = 1; places <= PMA_PLACES; places += 1 + places / 20)
                for (unsigned count = 1; count <= places; count++) {
                        unsigned runs = 1, last = pma_spread(places, count, 0);
                        check_equal(last, 0);
                        for (unsigned i = 1; i < count; i++) {
                                unsigned place = pma_spread(places, count, i);
                                check(place > last);
                                runs += place > last + 1;
                                last = place;
                        }
                        check(last < places && runs <= 1 + places / PMA_RUN);
                        check(2 * count < places || places - last <= 1 + (places - count) / runs + 1);
                }
}

/* Where more pages are going to come all gaps of the window are; one directly before is made use of as a whole. */
static void all_gaps_are_where_a_trend_is(void)
{
        struct pma_plan plan;
        memset(&map, 0, sizeof(map));
        for (unsigned i = 100; i < 140; i++)
                pma_set(&map, i);
        check(pma_plan_room(&map, 512, 110, true, &plan));
        check_equal(plan.begin, 64);
        check_equal(plan.end, 128);
        for (unsigned i = 0; i < plan.count; i++) {
                pma_clear(&map, plan.moves[i].from);
                pma_set(&map, plan.moves[i].to);
        }
        check_equal(plan.hot, 74);
        check_equal(pma_next(&map, 75), 128 - 17);
        pma_clear(&map, 64);
        pma_clear(&map, 65);
        check(pma_plan_room(&map, 512, 66, true, &plan));
        check_equal(plan.count, 1);
        check_equal(plan.moves[0].from, 66);
        check_equal(plan.moves[0].to, 0);
}

/* ---- shifts ---- */

/* Where each page is to be, but for so many places. */
static void check_spread(unsigned before, unsigned used, unsigned behind, unsigned tolerance)
{
        for (unsigned i = 0, place = pma_next(&map, 0); i < used; i++, place = pma_next(&map, place + 1)) {
                unsigned spread = pma_spread(509, before + used + behind, before + i);
                check(place + tolerance >= spread && place <= spread + tolerance);
        }
}

static void a_shift_leaves_room_at_the_ends(void)
{
        chance.state = chance_seed();
        for (int round = 0; round < 5000; round++) {
                struct pma_plan plan;
                make_map(509, (unsigned)chance_below(&chance, 90));
                const unsigned used = pma_count(&map, 0, 509);
                const unsigned tolerance = (unsigned)chance_below(&chance, 2) * (unsigned)chance_below(&chance, 12);
                unsigned before = (unsigned)chance_below(&chance, 509 - used + 1), behind = 0;
                if (chance_percent(&chance, 50)) {
                        behind = before;
                        before = 0;
                }
                if (!used)
                        continue;
                pma_plan_shift(&map, 509, before, behind, tolerance, &plan);
                carry_out(&plan, plan.count);
                check_spread(before, used, behind, tolerance);
                check(pma_next(&map, 0) + tolerance >= before);
                check(508 - pma_previous(&map, 508) + tolerance >= behind);
                pma_plan_shift(&map, 509, before, behind, tolerance, &plan);
                check_equal(plan.count, 0); /* nothing is left to be done */
        }
}

static void a_gap_that_is_further_away_comes_near(void)
{
        struct pma_plan plan;
        chance.state = chance_seed();
        for (int round = 0; round < 5000; round++) {
                make_map(509, 90);
                unsigned hot = choose_hot(509), reach = 1 + (unsigned)chance_below(&chance, 60);
                if (hot == PMA_PLACES || (hot + 1 < 509 && !pma_is_used(&map, hot + 1)))
                        continue;
                const unsigned name = names[hot];
                if (!pma_plan_near(&map, 509, hot, reach, &plan)) {
                        for (unsigned i = hot > reach ? hot - reach : 0; i <= hot + reach + 1 && i < 509; i++)
                                check(pma_is_used(&map, i));
                        continue;
                }
                check(plan.count <= reach);
                carry_out(&plan, plan.count);
                check_equal(names[plan.hot], name);
                check(!pma_is_used(&map, plan.hot + 1U));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(bits_are_counted_and_found),
                isolated_test(there_is_room_behind_the_full_page),
                isolated_test(a_plan_that_is_cut_short_goes_on),
                isolated_test(gaps_are_where_inserts_are),
                isolated_test(gaps_lie_together),
                isolated_test(all_gaps_are_where_a_trend_is),
                isolated_test(a_shift_leaves_room_at_the_ends),
                isolated_test(a_gap_that_is_further_away_comes_near),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
