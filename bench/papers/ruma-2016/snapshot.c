/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/snapshot.h"

/*
 * How many updates there are in a second, snapshots included. After the last update before the next snapshot the time
 * stands still while a reader adds up the snapshot; the sum must be that of the moment when it was taken.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/ruma-2016/rearrange.h"
#include "bench/papers/ruma-2016/rearrange_grid.h"
#include "bench/support/scratch.h"

enum { SEVERAL = 65536, SMALL = 4096 };

#define BY_FORK                                                                                 \
        .open = snapshot_fork_open, .take = snapshot_fork_take, .update = snapshot_fork_update, \
        .read = snapshot_fork_read, .close = snapshot_fork_close
#define BY_COPY                                                                                 \
        .open = snapshot_copy_open, .take = snapshot_copy_take, .update = snapshot_copy_update, \
        .read = snapshot_copy_read, .close = snapshot_copy_close
#define BY_REWIRING                                                                                      \
        .open = snapshot_rewired_open, .take = snapshot_rewired_take, .update = snapshot_rewired_update, \
        .read = snapshot_rewired_read, .close = snapshot_rewired_close

/* clang-format off */
const struct snapshot_way snapshot_ways[] = {
        { .name = "fork-2m", BY_FORK, .is_huge = true },
        { .name = "fork-4k", BY_FORK },
        { .name = "copy", BY_COPY, .is_huge = true },
        { .name = "rewired-2m", BY_REWIRING, .is_huge = true, .unit_bytes = XAC_REWIRE_HUGE_BYTES },
        { .name = "rewired-64k", BY_REWIRING, .unit_bytes = SEVERAL },
        { .name = "rewired-4k", BY_REWIRING, .unit_bytes = SMALL },
        { .name = "kept-2m", BY_REWIRING, .is_huge = true, .is_writer_kept = true, .unit_bytes = XAC_REWIRE_HUGE_BYTES },
        { .name = "kept-64k", BY_REWIRING, .is_writer_kept = true, .unit_bytes = SEVERAL },
        { .name = "kept-4k", BY_REWIRING, .is_writer_kept = true, .unit_bytes = SMALL },
        { .name = NULL },
};
/* clang-format on */

/* Of one order of updates. */
struct rates {
        struct grid updates; /* millions in a second */
        struct grid taking;  /* us */
        struct grid reading; /* ms */
};

static uint64_t sum_of_page(const uint64_t *words)
{
        uint64_t sum[4] = { 0 };

        for (int i = 0; i < SNAPSHOT_PAGE_WORDS; i += 4)
                for (int k = 0; k < 4; k++)
                        sum[k] += words[i + k];
        return sum[0] + sum[1] + sum[2] + sum[3];
}

uint64_t snapshot_sum(const uint64_t *words, uint64_t count)
{
        uint64_t sum = 0;

        for (uint64_t at = 0; at < count; at += SNAPSHOT_PAGE_WORDS)
                sum += sum_of_page(words + at) * snapshot_weight(at);
        return sum;
}

void snapshot_update_words(struct snapshot_updates *shared, uint64_t *words, uint64_t count)
{
        struct snapshot_updates updates = *shared; /* in registers */

        for (uint64_t i = 0; i < count; i++) {
                const uint64_t at = snapshot_next(&updates);
                snapshot_add(&updates, words, at);
        }
        *shared = updates;
}

/* ---- one measurement ---- */

struct figures {
        uint64_t updating_ns, taking_ns, reading_ns;
};

static void read_and_check(struct snapshot_run *run, uint64_t right, struct figures *figures)
{
        uint64_t sum = 0;
        const uint64_t start = measure_now_ns();

        must(run->way->read(run, &sum), "the reader of a snapshot");
        figures->reading_ns += measure_now_ns() - start;
        if (sum == right)
                return;
        fprintf(stderr, "%s: the sum of a snapshot is %" PRIu64 " instead of %" PRIu64 "\n", run->way->name, sum,
                right);
        exit(EXIT_FAILURE);
}

static int take_and_update(struct snapshot_run *run, uint64_t count, struct figures *figures)
{
        const uint64_t start = measure_now_ns();
        int err = run->way->take(run);
        const uint64_t right = run->updates.sum, taken = measure_now_ns();
        if (!err)
                err = run->way->update(run, count);
        figures->taking_ns += taken - start;
        figures->updating_ns += measure_now_ns() - taken;
        if (!err)
                read_and_check(run, right, figures);
        return err;
}

/* The first snapshot is taken of an array that nothing has happened to, and is no part of it. */
static int measure(struct snapshot_run *run, uint64_t *words, uint64_t count, uint64_t snapshots,
                   struct figures *figures)
{
        struct figures none = { 0 };
        for (uint64_t i = 0; i < run->updates.words; i++)
                words[i] = i;
        run->updates.sum = snapshot_sum(words, run->updates.words);
        int err = take_and_update(run, count, &none);
        for (uint64_t i = 0; i < snapshots && !err; i++)
                err = take_and_update(run, count, figures);
        return err;
}

/* Ends the program (2) if there is none. */
static const struct snapshot_way *way_of(const char *name)
{
        for (const struct snapshot_way *way = snapshot_ways; way->name; way++)
                if (strcmp(way->name, name) == 0)
                        return way;
        options_refuse("no such way", name);
}

static void measure_way(const struct rearrange *rearrange, struct rates *rates, int row, int column, bool is_random)
{
        const double snapshots = (double)rearrange->snapshots;
        const uint64_t count = rates->updates.columns.value[column];
        struct figures figures = { 0 };
        struct snapshot_run run = { .way = way_of(rates->updates.row[row]), .byte_len = rearrange->bytes };
        uint64_t *words = NULL;

        run.updates.words = rearrange->bytes / sizeof(uint64_t);
        run.updates.state = is_random ? rearrange->seed * 2 + 1 : 0;
        int err = run.way->open(&run, &words);
        if (!err)
                err = measure(&run, words, count, rearrange->snapshots, &figures);
        run.way->close(&run);
        if (err)
                return;
        samples_add(&rates->updates.cell[row][column],
                    (double)count * snapshots / (double)(figures.taking_ns + figures.updating_ns) * 1e3);
        samples_add(&rates->taking.cell[row][column], (double)figures.taking_ns / 1e3 / snapshots);
        samples_add(&rates->reading.cell[row][column], (double)figures.reading_ns / 1e6 / snapshots);
}

/* ---- all of them ---- */

static void take_way(const char *word, void *arg)
{
        struct grid *grid = arg;
        if (grid->rows == GRID_ROWS_MAX)
                options_refuse("too many ways", word);
        grid->row[grid->rows++] = way_of(word)->name;
}

static void make_grid(struct grid *grid, const struct rearrange *rearrange)
{
        *grid = (struct grid){ .columns_name = "updates" };
        if (!rearrange->bytes || rearrange->bytes % XAC_REWIRE_HUGE_BYTES)
                options_refuse("a multiple of 2 MiB", "--bytes");
        if (!rearrange->snapshots)
                options_refuse("at least 1", "--snapshots");
        if (rearrange->ways)
                options_words(rearrange->ways, take_way, grid);
        else
                for (const struct snapshot_way *way = snapshot_ways; way->name; way++)
                        take_way(way->name, grid);
        options_numbers(rearrange->updates, 1, UINT64_C(1) << 40, &grid->columns);
}

static void print(const struct rates *rates, const struct rearrange *rearrange, bool is_random)
{
        char title[200];

        snprintf(title, sizeof(title),
                 "Updates %s in %" PRIu64 " MiB, a snapshot after so many: millions in a second, medians of %" PRIu64
                 " rounds",
                 is_random ? "at random" : "one after the other", rearrange->bytes >> 20, rearrange->rounds);
        grid_print(&rates->updates, title, 2);
        grid_print_times(&rates->updates, "fork-2m", false);
        grid_print_times(&rates->updates, "fork-4k", false);
        grid_print(&rates->taking, "Of that, to end a snapshot and take the next: us", 1);
        grid_print(&rates->reading, "To read a snapshot, not part of that: ms", 1);
        grid_write(&rates->updates, rearrange->csv, is_random ? "random_updates" : "sequential_updates",
                   "millions_per_s");
        grid_write(&rates->taking, rearrange->csv, is_random ? "random_taking" : "sequential_taking", "us");
        grid_write(&rates->reading, rearrange->csv, is_random ? "random_reading" : "sequential_reading", "ms");
}

static void run_order(const struct rearrange *rearrange, bool is_random)
{
        static struct rates rates;

        make_grid(&rates.updates, rearrange);
        make_grid(&rates.taking, rearrange);
        make_grid(&rates.reading, rearrange);
        for (uint64_t round = 0; round < rearrange->rounds; round++)
                for (int c = 0; c < rates.updates.columns.count; c++)
                        for (int r = 0; r < rates.updates.rows; r++)
                                measure_way(rearrange, &rates, r, c, is_random);
        print(&rates, rearrange, is_random);
        grid_free(&rates.updates);
        grid_free(&rates.taking);
        grid_free(&rates.reading);
}

void snapshot_experiment(const struct rearrange *rearrange)
{
        run_order(rearrange, false);
        run_order(rearrange, true);
}
