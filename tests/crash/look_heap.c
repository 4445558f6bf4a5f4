/* SPDX-License-Identifier: MIT */
#include "tests/crash/look.h"

#include <errno.h>
#include <inttypes.h>

static void take_finding(void *life, const char *text)
{
        look_wrong(life, "xac_heap_check: %s", text);
}

/* What is there before anything else is made: nothing, or sound. */
static void check_heap(struct life_of_image *life)
{
        xac_heap *heap;
        int err = xac_heap_open(life->seat.env, "heap", 0, &heap);

        if (err == -ENOENT)
                return;
        look_expect_ok(life, err, "opening the heap");
        look_expect_ok(life, xac_heap_check(heap, NULL, take_finding, life), "xac_heap_check");
        look_expect_ok(life, xac_heap_close(heap), "closing the heap");
}

static void find_counters(struct life_of_image *life)
{
        const struct workload *workload = life->world.workload;

        for (unsigned lane = 0; lane < workload->lanes; lane++) {
                life->told->found[lane] = heap_deeds_counter(&life->seat.heap_desk, lane);
                if (life->told->found[lane] > workload->commits + 64)
                        look_wrong(life, "lane %u: the counter is %" PRIu64, lane, life->told->found[lane]);
        }
}

void look_inside_heap(struct life_of_image *life)
{
        struct heap_lane lanes[WORLD_LANES] = { 0 };
        char text[512];

        check_heap(life);
        look_expect_ok(life, workload_heap_open(&life->seat), "opening the tables");
        look_expect_ok(life, xbegin(life->seat.env, XAC_RDONLY), "xbegin");
        find_counters(life);
        for (unsigned lane = 0; lane < life->world.workload->lanes; lane++)
                heap_deeds_go_to(&lanes[lane], &life->seat.heap_deeds, lane, life->told->found[lane]);
        if (!heap_deeds_are_done(lanes, &life->seat.heap_desk, text, sizeof(text)))
                look_wrong(life, "after deed %" PRIu64 " of lane 0: %s", life->told->found[0], text);
        look_expect_ok(life, xend(life->seat.env), "xend of a reader");
}
