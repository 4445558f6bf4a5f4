/* SPDX-License-Identifier: MIT */
#include "tests/crash/workloads.h"

/*
 * Workloads whose commits are deeds on trees.
 */

enum { KEYS = 300, PERIOD = 40, LARGE_PERMILLE = 40 };

static uint64_t salt(const void *world, unsigned lane, uint64_t k)
{
        return world_salt(world, lane, k);
}

int workload_tree_open(struct seat_of_world *seat)
{
        const struct world *world = seat->world;

        if (seat->desk.arena)
                return 0;
        seat->deeds = (struct deeds){ .kind = world->workload->tree,
                                      .seed = world->seed,
                                      .lanes = world->workload->lanes,
                                      .keys = world->workload->keys ? world->workload->keys : KEYS,
                                      .period = PERIOD,
                                      .large_permille = LARGE_PERMILLE,
                                      .bulk_permille = world->workload->bulk_permille,
                                      .salt = salt,
                                      .salt_arg = world };
        int err = deeds_open(&seat->desk, &seat->deeds, seat->env,
                             world->workload->is_view ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED);
        return err ? err : xac_sync(seat->env); /* to durable readers, too, the trees are there */
}

static void allow(void *trace, unsigned lane, uint64_t k)
{
        trace_allowed(trace, lane, k);
}

int workload_tree_commit(struct seat_of_world *seat, unsigned lane, uint64_t most, int flags, struct trace *trace,
                         uint64_t *k)
{
        return deeds_commit(&seat->desk, lane, most, flags, trace ? allow : NULL, trace, k);
}
