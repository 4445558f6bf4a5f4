/* SPDX-License-Identifier: MIT */
#include "tests/crash/look.h"

#include <inttypes.h>

/* What is there before anything else is made: nothing, or sound. */
static void check_arena(struct life_of_image *life)
{
        xac_arena *arena;
        xac_tree_report report;

        look_expect_ok(life, xac_arena_open_env(life->seat.env, "deeds", XAC_ARENA_DECLARED, &arena),
                       "opening the arena");
        int err = xac_tree_check(arena, &report);
        if (err)
                look_wrong(life, "xac_tree_check: %d (%s), page %" PRIu64 ": %s", err, xac_strerror(err),
                           report.page_no, report.message);
        look_expect_ok(life, xac_arena_close(arena), "closing the arena");
}

static void find_counters(struct life_of_image *life)
{
        const struct workload *workload = life->world.workload;

        for (unsigned lane = 0; lane < workload->lanes; lane++) {
                look_expect_ok(life, deeds_counter(&life->seat.desk, lane, &life->told->found[lane]),
                               "the number of a deed");
                if (life->told->found[lane] > workload->commits + 64)
                        look_wrong(life, "lane %u: the counter is %" PRIu64, lane, life->told->found[lane]);
        }
}

void look_inside_trees(struct life_of_image *life)
{
        struct deeds_state state = { 0 };
        char text[512];

        check_arena(life);
        look_expect_ok(life, workload_tree_open(&life->seat), "opening the trees");
        look_expect_ok(life, xbegin(life->seat.env, XAC_RDONLY), "xbegin");
        find_counters(life);
        deeds_go_to(&state, &life->seat.deeds, life->told->found);
        if (!deeds_are_done(&state, &life->seat.desk, text, sizeof(text)))
                look_wrong(life, "after deed %" PRIu64 " of lane 0: %s", life->told->found[0], text);
        look_expect_ok(life, xend(life->seat.env), "xend of a reader");
        deeds_forget(&state);
}
