/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition.h"

/*
 * Chunks: each partition is a list of them, all of them in memory that was touched before. They are left so, or copied
 * together into memory that was touched before, too.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/ruma-2016/partition_growth.h"
#include "bench/support/scratch.h"

enum { LEAD_MAX = 65536 /* a chunk */ };

/* The next chunk of the run's memory. */
static char *take(void *arg)
{
        struct partition_run *run = arg;
        return run->chunks.bytes + run->growth->units * run->growth->unit_bytes;
}

int chunks_prepare(struct partition_run *run)
{
        const struct partition_task *task = run->task;
        const uint64_t unit_bytes = run->way->unit_bytes;
        const uint64_t units = growth_units_max(task, unit_bytes);

        run->growth = malloc(sizeof(*run->growth));
        must(run->growth ? 0 : -ENOMEM, "chunks");
        growth_open(run->growth, task, unit_bytes, LEAD_MAX);
        run->growth->take = take;
        run->growth->arg = run;
        rearrange_memory_open(&run->chunks, units * unit_bytes, run->way->is_huge);
        rearrange_memory_touch(&run->chunks);
        if (run->way->gaps == PARTITION_GAPLESS) {
                rearrange_memory_open(&run->output, task->count * sizeof(uint64_t), run->way->is_huge);
                rearrange_memory_touch(&run->output);
        }
        partition_run_set_room(run, run->way->gaps == PARTITION_GAPLESS ? task->partitions : units);
        return 0;
}

/* The part of a partition's keys that begins at `from` bytes of a unit. */
static uint64_t in_unit(const struct partition_growth *growth, uint64_t from, uint64_t left)
{
        const uint64_t most = growth->unit_bytes - from;
        return left < most ? left : most;
}

static void list(struct partition_run *run)
{
        const struct partition_growth *growth = run->growth;

        for (uint32_t p = 0; p < growth->partitions; p++) {
                uint64_t left = growth_byte_len(growth, p), from = growth->partition[p].lead, here;
                for (uint32_t u = growth->partition[p].first; left; u = growth->unit[u].next, left -= here, from = 0) {
                        here = in_unit(growth, from, left);
                        partition_run_add(run, growth->unit[u].bytes + from, here / sizeof(uint64_t), p);
                }
        }
}

static void copy_together(struct partition_run *run)
{
        const struct partition_growth *growth = run->growth;
        char *to = run->output.bytes;

        for (uint32_t p = 0; p < growth->partitions; p++) {
                uint64_t left = growth_byte_len(growth, p), from = growth->partition[p].lead, here;
                partition_run_add(run, to, left / sizeof(uint64_t), p);
                for (uint32_t u = growth->partition[p].first; left; u = growth->unit[u].next, left -= here, from = 0) {
                        here = in_unit(growth, from, left);
                        memcpy(to, growth->unit[u].bytes + from, here);
                        to += here;
                }
        }
}

int chunks_run(struct partition_run *run)
{
        int err = growth_scatter(run->growth, run->task, run->way->is_buffered);
        if (err)
                return err;
        if (run->way->gaps == PARTITION_GAPLESS)
                copy_together(run);
        else
                list(run);
        return 0;
}
