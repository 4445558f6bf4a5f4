/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/ruma-2016/partition_growth.h"
#include "bench/support/measure.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { CHUNK = 65536, SMALL_UNIT = 4096, SEVERAL = 65536, MANY = 262144 };

/* clang-format off */
const struct partition_way partition_ways[] = {
        /* The baselines in huge pages are their best configuration; small pages show what these are worth. */
        { .name = "two-passes-fresh", .prepare = two_passes_prepare, .run = two_passes_run,
          .is_stable = true, .is_huge = true, .is_fresh = true },
        { .name = "two-passes", .prepare = two_passes_prepare, .run = two_passes_run,
          .is_stable = true, .is_huge = true },
        { .name = "two-passes-buffered", .prepare = two_passes_prepare, .run = two_passes_run,
          .is_stable = true, .is_huge = true, .is_buffered = true },
        { .name = "two-passes-4k-fresh", .prepare = two_passes_prepare, .run = two_passes_run,
          .is_stable = true, .is_fresh = true },
        { .name = "two-passes-4k", .prepare = two_passes_prepare, .run = two_passes_run,
          .is_stable = true },
        { .name = "chunks-in-pieces", .prepare = chunks_prepare, .run = chunks_run, .gaps = PARTITION_IN_PIECES,
          .is_stable = true, .is_huge = true, .unit_bytes = CHUNK },
        { .name = "chunks", .prepare = chunks_prepare, .run = chunks_run,
          .is_stable = true, .is_huge = true, .unit_bytes = CHUNK },
        { .name = "rewired-2m-fresh", .prepare = rewired_prepare, .run = rewired_run,
          .is_huge = true, .is_fresh = true, .unit_bytes = XAC_REWIRE_HUGE_BYTES },
        { .name = "rewired-2m-aligned", .prepare = rewired_prepare, .run = rewired_run, .gaps = PARTITION_PAGE_ALIGNED,
          .is_stable = true, .is_huge = true, .unit_bytes = XAC_REWIRE_HUGE_BYTES },
        { .name = "rewired-2m", .prepare = rewired_prepare, .run = rewired_run,
          .is_huge = true, .unit_bytes = XAC_REWIRE_HUGE_BYTES },
        { .name = "rewired-2m-buffered", .prepare = rewired_prepare, .run = rewired_run,
          .is_huge = true, .is_buffered = true, .unit_bytes = XAC_REWIRE_HUGE_BYTES },
        { .name = "rewired-256k-aligned", .prepare = rewired_prepare, .run = rewired_run, .gaps = PARTITION_PAGE_ALIGNED,
          .is_stable = true, .is_collapsed = true, .unit_bytes = MANY },
        { .name = "rewired-256k", .prepare = rewired_prepare, .run = rewired_run,
          .is_collapsed = true, .unit_bytes = MANY },
        { .name = "rewired-64k-huge", .prepare = rewired_prepare, .run = rewired_run,
          .is_collapsed = true, .unit_bytes = SEVERAL },
        { .name = "rewired-64k-aligned", .prepare = rewired_prepare, .run = rewired_run, .gaps = PARTITION_PAGE_ALIGNED,
          .is_stable = true, .unit_bytes = SEVERAL },
        { .name = "rewired-64k", .prepare = rewired_prepare, .run = rewired_run, .unit_bytes = SEVERAL },
        { .name = "rewired-64k-buffered", .prepare = rewired_prepare, .run = rewired_run,
          .is_buffered = true, .unit_bytes = SEVERAL },
        { .name = "rewired-4k-aligned", .prepare = rewired_prepare, .run = rewired_run, .gaps = PARTITION_PAGE_ALIGNED,
          .is_stable = true, .unit_bytes = SMALL_UNIT },
        { .name = "rewired-4k", .prepare = rewired_prepare, .run = rewired_run, .unit_bytes = SMALL_UNIT },
        { .name = "automatic" },
        { .name = NULL },
};
/* clang-format on */

const struct partition_way *partition_way_of(const char *name)
{
        for (const struct partition_way *way = partition_ways; way->name; way++)
                if (strcmp(way->name, name) == 0)
                        return way;
        options_refuse("no such way", name);
}

/*
 * Rewired while a partition has two units or more; below that, what is moved to close the gaps is much of it, and
 * chunks are copied together instead. With 32 and 64 partitions, storing key by key costs twice what it costs with
 * fewer or more, whatever the way, on the machine where this was chosen: so there by lines. With more than 512, runs of
 * 256 KiB take twice what chunks do. See REARRANGE.md.
 */
const struct partition_way *partition_way_for(const struct partition_way *way, const struct partition_task *task)
{
        enum { UNITS_LEAST = 2, LINES_FROM = 32, LINES_TO = 64, RUNS_TO = 512 };
        if (way->run)
                return way;
        const uint64_t unit_bytes = task->count * sizeof(uint64_t) / task->partitions / UNITS_LEAST;
        const bool is_large = unit_bytes >= XAC_REWIRE_HUGE_BYTES;
        if (task->partitions >= LINES_FROM && task->partitions <= LINES_TO)
                return partition_way_of(is_large ? "rewired-2m-buffered" : "two-passes-buffered");
        if (is_large)
                return partition_way_of("rewired-2m");
        return partition_way_of(unit_bytes >= MANY && task->partitions <= RUNS_TO ? "rewired-256k" : "chunks");
}

/* ---- measuring ---- */

void partition_run_set_room(struct partition_run *run, uint64_t pieces)
{
        run->pieces = malloc(pieces * sizeof(*run->pieces));
        must(run->pieces ? 0 : -ENOMEM, "partitions");
        memset(run->pieces, 0, pieces * sizeof(*run->pieces));
}

int partition_measure(struct partition_run *run, const struct partition_way *way, const struct partition_task *task,
                      double *ms)
{
        *run = (struct partition_run){ .task = task, .way = partition_way_for(way, task) };
        int err = run->way->prepare(run);
        if (err)
                return err;
        const uint64_t start = measure_now_ns();
        err = run->way->run(run);
        *ms = (double)(measure_now_ns() - start) / 1e6;
        return err;
}

void partition_run_close(struct partition_run *run)
{
        xac_rewire_area_destroy(run->area);
        must(xac_rewire_pool_destroy(run->pool), "xac_rewire_pool_destroy");
        rearrange_memory_close(&run->output);
        rearrange_memory_close(&run->chunks);
        if (run->growth)
                growth_close(run->growth);
        free(run->growth);
        free(run->pieces);
}
