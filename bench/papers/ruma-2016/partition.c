/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition.h"

/*
 * How long partitioning takes, by each way and number of partitions.
 */

#include <inttypes.h>
#include <stdio.h>

#include "bench/papers/ruma-2016/rearrange.h"
#include "bench/papers/ruma-2016/rearrange_grid.h"

static const uint64_t KEYS_LEAST = 1024, KEYS_MOST = 100000000;

enum { PARTITIONS_MAX = 1024 };

static void take_way(const char *word, void *arg)
{
        struct grid *grid = arg;
        const struct partition_way *way = partition_way_of(word);
        if (grid->rows == GRID_ROWS_MAX)
                options_refuse("too many ways", word);
        grid->row[grid->rows++] = way->name;
}

void partition_grid_make(struct grid *grid, const struct rearrange *rearrange, const char *ways, const char *partitions)
{
        *grid = (struct grid){ .columns_name = "partitions" };
        if (rearrange->keys < KEYS_LEAST || rearrange->keys > KEYS_MOST)
                options_refuse("1,024 to 10^8", "--keys");
        if (ways)
                options_words(ways, take_way, grid);
        else
                for (const struct partition_way *way = partition_ways; way->name; way++)
                        take_way(way->name, grid);
        options_numbers(partitions, 2, PARTITIONS_MAX, &grid->columns);
        for (int c = 0; c < grid->columns.count; c++)
                if (grid->columns.value[c] & (grid->columns.value[c] - 1))
                        options_refuse("not powers of 2", partitions);
}

static void measure(struct grid *grid, const struct partition_task *task, int column)
{
        for (int r = 0; r < grid->rows; r++) {
                struct partition_run run;
                double ms;
                if (!partition_measure(&run, partition_way_of(grid->row[r]), task, &ms)) {
                        partition_check(&run, false);
                        samples_add(&grid->cell[r][column], ms);
                }
                partition_run_close(&run);
        }
}

static void print(const struct grid *grid, const struct rearrange *rearrange)
{
        char title[128];

        snprintf(title, sizeof(title), "Partitioning %" PRIu64 " keys: ms, medians of %" PRIu64 " rounds",
                 rearrange->keys, rearrange->rounds);
        grid_print(grid, title, 1);
        grid_print_times(grid, "two-passes-fresh", true);
        grid_print_times(grid, "two-passes", true);
        grid_print_times(grid, "two-passes-buffered", true);
        grid_write(grid, rearrange->csv, "partition", "ms");
}

void partition_experiment(const struct rearrange *rearrange)
{
        static struct grid grid;
        struct partition_task task;

        partition_grid_make(&grid, rearrange, rearrange->ways,
                            rearrange->partitions ? rearrange->partitions : "2,4,8,16,32,64,128,256,512,1024");
        partition_task_open(&task, rearrange->keys, rearrange->seed);
        for (uint64_t round = 0; round < rearrange->rounds; round++)
                for (int c = 0; c < grid.columns.count; c++) {
                        partition_task_divide(&task, (uint32_t)grid.columns.value[c]);
                        measure(&grid, &task, c);
                }
        print(&grid, rearrange);
        grid_free(&grid);
        partition_task_close(&task);
}
