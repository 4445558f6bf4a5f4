/* SPDX-License-Identifier: MIT */
#include "tests/crash/workloads.h"

/*
 * Workloads whose commits are deeds on a heap.
 */

enum { CHANGES = 5, LARGE = 9000, HUGE = 3 << 20 };

static uint64_t salt(const void *world, unsigned lane, uint64_t k)
{
        return world_salt(world, lane, k);
}

/* Several threads of a process see the heap where it lies; by plain pointers only one does. */
int workload_heap_open(struct seat_of_world *seat)
{
        const struct world *world = seat->world;

        if (seat->heap_desk.heap)
                return 0;
        tables_are_plain = world->workload->is_view;
        seat->heap_deeds = (struct heap_deeds){ .seed = world->seed,
                                                .lanes = world->workload->lanes,
                                                .changes = CHANGES,
                                                .size_max = LARGE,
                                                .huge = world->workload->has_huge ? HUGE : 0,
                                                .salt = salt,
                                                .salt_arg = world };
        int err = heap_deeds_open(&seat->heap_desk, &seat->heap_deeds, seat->env,
                                  XAC_CREATE | (world->workload->is_view ? 0 : XAC_SHARED));
        return err ? err : xac_sync(seat->env); /* to durable readers, too, the tables are there */
}

static int attempt(struct heap_desk *desk, unsigned lane, uint64_t most, int flags, struct trace *trace, uint64_t *k)
{
        int err = xbegin(desk->env, flags);

        if (err)
                return err;
        err = heap_deeds_do(desk, lane, most, k);
        if (err) {
                xabort(desk->env);
                return err;
        }
        if (*k && trace)
                trace_allowed(trace, lane, *k);
        return xend(desk->env);
}

int workload_heap_commit(struct seat_of_world *seat, unsigned lane, uint64_t most, int flags, struct trace *trace,
                         uint64_t *k)
{
        int err;

        do
                err = attempt(&seat->heap_desk, lane, most, flags, trace, k);
        while (err == XAC_CONFLICT);
        return err;
}
