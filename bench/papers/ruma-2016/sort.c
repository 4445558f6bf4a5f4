/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition.h"

/*
 * How long sorting takes: keys are partitioned, then each partition is sorted where it lies, by the same routine
 * whatever the way of partitioning.
 */

#include <inttypes.h>
#include <stdio.h>

#include "bench/papers/ruma-2016/rearrange.h"
#include "bench/papers/ruma-2016/rearrange_grid.h"
#include "bench/papers/ruma-2016/sort_radix.h"
#include "bench/support/measure.h"

/* Those whose partitions lie in one piece each. */
static const char ALL_WAYS[] =
        "two-passes-fresh,two-passes,two-passes-buffered,chunks,rewired-2m-fresh,"
        "rewired-2m-aligned,rewired-2m,rewired-2m-buffered,rewired-256k-aligned,rewired-256k,rewired-64k,automatic";

/* Both of the parts, and their sum. */
struct times {
        struct grid sum, sorting;
};

static double sort_all(const struct partition_run *run, uint64_t *scratch)
{
        const uint64_t start = measure_now_ns();

        for (uint64_t i = 0; i < run->piece_count; i++)
                sort_radix(run->pieces[i].keys, run->pieces[i].count, scratch, run->task->shift);
        return (double)(measure_now_ns() - start) / 1e6;
}

static void measure(struct times *times, const struct partition_task *task, int column, uint64_t *scratch)
{
        for (int r = 0; r < times->sum.rows; r++) {
                struct partition_run run;
                double ms;
                if (!partition_measure(&run, partition_way_of(times->sum.row[r]), task, &ms)) {
                        const double sort_ms = sort_all(&run, scratch);
                        partition_check(&run, true);
                        samples_add(&times->sum.cell[r][column], ms + sort_ms);
                        samples_add(&times->sorting.cell[r][column], sort_ms);
                }
                partition_run_close(&run);
        }
}

static void refuse_pieces(const struct grid *grid)
{
        for (int r = 0; r < grid->rows; r++)
                if (partition_way_of(grid->row[r])->gaps == PARTITION_IN_PIECES)
                        options_refuse("cannot be sorted where they lie", grid->row[r]);
}

static void print(const struct times *times, const struct rearrange *rearrange)
{
        char title[128];

        snprintf(title, sizeof(title), "Sorting %" PRIu64 " keys: ms, medians of %" PRIu64 " rounds", rearrange->keys,
                 rearrange->rounds);
        grid_print(&times->sum, title, 1);
        grid_print(&times->sorting, "Of that, after partitioning: ms", 1);
        grid_print_times(&times->sum, "two-passes-fresh", true);
        grid_print_times(&times->sum, "two-passes", true);
        grid_print_times(&times->sum, "two-passes-buffered", true);
        grid_write(&times->sum, rearrange->csv, "sort", "ms");
        grid_write(&times->sorting, rearrange->csv, "sort_of_partitions", "ms");
}

void sort_experiment(const struct rearrange *rearrange)
{
        static struct times times;
        struct partition_task task;
        struct rearrange_memory scratch;
        const char *ways = rearrange->ways ? rearrange->ways : ALL_WAYS;
        const char *partitions = rearrange->partitions ? rearrange->partitions : "16,64,256,1024";

        partition_grid_make(&times.sum, rearrange, ways, partitions);
        partition_grid_make(&times.sorting, rearrange, ways, partitions);
        refuse_pieces(&times.sum);
        partition_task_open(&task, rearrange->keys, rearrange->seed);
        rearrange_memory_open(&scratch, rearrange->keys * sizeof(uint64_t), true);
        rearrange_memory_touch(&scratch);
        for (uint64_t round = 0; round < rearrange->rounds; round++)
                for (int c = 0; c < times.sum.columns.count; c++) {
                        partition_task_divide(&task, (uint32_t)times.sum.columns.value[c]);
                        measure(&times, &task, c, (uint64_t *)scratch.bytes);
                }
        print(&times, rearrange);
        grid_free(&times.sum);
        grid_free(&times.sorting);
        rearrange_memory_close(&scratch);
        partition_task_close(&task);
}
