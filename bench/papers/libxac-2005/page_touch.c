/* SPDX-License-Identifier: MIT */

/*
 * The page-touch experiment (thesis, figures 4-1 to 4-4 and tables 4.2 to 4.7): a transaction
 * reads from, or writes to, n consecutive pages; the figure is its time divided by n. Then
 * the first write to a page of a view, taken apart into the primitives of bench/papers/libxac-2005/primitives.h,
 * which are measured in the same run, in turn with the transactions.
 *
 * A repetition of a small n is several transactions, so that the clock does not show.
 */

#include <stdio.h>
#include <stdlib.h>

#include "bench/papers/libxac-2005/primitives.h"
#include "bench/papers/libxac-2005/touch.h"
#include "bench/support/csv.h"
#include "bench/support/options.h"

enum { SIZES = 11, PAGES = 2048, PAGES_PER_REPETITION = 64 };

static const double FIRST_WRITE_LIMIT = 1.25;

struct experiment {
        uint64_t repetitions, cell_ms;
        struct samples touch[TOUCH_WAYS][SIZES];
        struct samples primitive[PRIMITIVES][SIZES];
        double copy_warm_ns, copy_large_ns;
};

static size_t pages_of(int size)
{
        return (size_t)1 << size;
}

/* Nanoseconds per page of one repetition. */
static double repeat_touch(struct touch *touch, size_t n)
{
        const size_t transactions = n < PAGES_PER_REPETITION ? PAGES_PER_REPETITION / n : 1;
        const uint64_t start = measure_now_ns();

        for (size_t i = 0; i < transactions; i++)
                touch_pages(touch, n);
        return (double)(measure_now_ns() - start) / (double)(transactions * n);
}

/* All repetitions of one way and one n; with a rig, in turn with its cycles. */
static void measure_cell(struct experiment *experiment, struct touch *touch, int size, struct rig *rig)
{
        const size_t n = pages_of(size);
        const uint64_t end = measure_now_ns() + experiment->cell_ms * 1000000;
        const size_t cycle_pages = n < PAGES_PER_REPETITION ? PAGES_PER_REPETITION : n;
        struct samples *samples = &experiment->touch[touch->way - touch_ways][size];
        struct samples primitive[PRIMITIVES] = { { 0 } };

        for (uint64_t i = 0; i < experiment->repetitions && (i < 3 || measure_now_ns() < end); i++) {
                samples_add(samples, repeat_touch(touch, n));
                if (rig)
                        rig_cycle(rig, i * cycle_pages % rig->pages, cycle_pages, n, primitive);
        }
        for (int p = 0; rig && p < PRIMITIVES; p++)
                experiment->primitive[p][size] = primitive[p];
}

static void measure_way(struct experiment *experiment, int way)
{
        struct touch touch;
        struct rig rig;
        const int has_rig = way == TOUCH_WRITE_PLAIN;

        touch_open(&touch, &touch_ways[way], PAGES);
        if (has_rig)
                rig_open(&rig, PAGES);
        for (int size = 0; size < SIZES; size++)
                measure_cell(experiment, &touch, size, has_rig ? &rig : NULL);
        if (has_rig)
                rig_close(&rig);
        touch_close(&touch);
}

static void print_ways(const struct experiment *experiment)
{
        printf("\nNanoseconds per page, medians; one process, a file of %d pages\n\n%6s", PAGES, "pages");
        for (int way = 0; way < TOUCH_WAYS; way++)
                printf(" %17s", touch_ways[way].name);
        for (int size = 0; size < SIZES; size++) {
                printf("\n%6zu", pages_of(size));
                for (int way = 0; way < TOUCH_WAYS; way++)
                        printf(" %17.0f", samples_median(&experiment->touch[way][size]));
        }
        printf("\n");
}

static double first_write_ratio(const struct experiment *experiment, int size)
{
        return samples_median(&experiment->touch[TOUCH_WRITE_PLAIN][size]) /
               samples_median(&experiment->primitive[PRIMITIVE_SUM][size]);
}

static void print_primitives(const struct experiment *experiment)
{
        printf("\nA first write to a page of a view, and its primitives (ns per page, medians)\n\n%6s", "pages");
        for (int p = 0; p < PRIMITIVES; p++)
                printf(" %12s", primitive_name[p]);
        printf(" %12s %6s", "first_write", "ratio");
        for (int size = 0; size < SIZES; size++) {
                printf("\n%6zu", pages_of(size));
                for (int p = 0; p < PRIMITIVES; p++)
                        printf(" %12.0f", samples_median(&experiment->primitive[p][size]));
                printf(" %12.0f %6.2f", samples_median(&experiment->touch[TOUCH_WRITE_PLAIN][size]),
                       first_write_ratio(experiment, size));
        }
        printf("\n\ncopying 4 KiB: %.0f ns between two arrays in the cache, %.0f ns all over two large "
               "ones\n",
               experiment->copy_warm_ns, experiment->copy_large_ns);
}

/* Table 4.7 of the thesis: what announcing an access gains. */
static void print_gain(const struct experiment *experiment, int plain_way, int advised_way)
{
        double plain = samples_median(&experiment->touch[plain_way][SIZES - 1]);
        double advised = samples_median(&experiment->touch[advised_way][SIZES - 1]);

        printf("transactions of %zu pages, %s: %.2f us per page; announced: %.2f us, a speed-up of %.0f %%\n",
               pages_of(SIZES - 1), touch_ways[plain_way].name, plain / 1000, advised / 1000,
               advised > 0 ? 100 * (plain / advised - 1) : 0);
}

static void write_csv(const struct experiment *experiment, const char *path)
{
        struct csv csv;

        csv_open(&csv, path, "page_touch");
        for (int size = 0; size < SIZES; size++) {
                struct csv_series series = { "libxac", 1, 1, pages_of(size), NULL, "ns_per_page" };
                for (int way = 0; way < TOUCH_WAYS; way++) {
                        series.metric = touch_ways[way].name;
                        csv_rows(&csv, &series, &experiment->touch[way][size]);
                }
                series.system = "primitives";
                for (int p = 0; p < PRIMITIVES; p++) {
                        series.metric = primitive_name[p];
                        csv_rows(&csv, &series, &experiment->primitive[p][size]);
                }
        }
        struct csv_series copy = { "primitives", 1, 1, 1, "copy_warm", "ns_per_page" };
        csv_row(&csv, &copy, experiment->copy_warm_ns);
        copy.metric = "copy_large";
        csv_row(&csv, &copy, experiment->copy_large_ns);
        csv_close(&csv);
}

/* The must-show figure for a few sizes; returns how many exceed it. */
static int print_verdicts(const struct experiment *experiment)
{
        int exceeded = 0;
        for (int size = 0; size < SIZES; size += 2) {
                char what[64];
                snprintf(what, sizeof(what), "first write of %zu pages / sum of its primitives", pages_of(size));
                exceeded += scratch_verdict(what, first_write_ratio(experiment, size), FIRST_WRITE_LIMIT, "times");
        }
        return exceeded;
}

int main(int argc, char **argv)
{
        static struct experiment experiment = { .repetitions = 1000, .cell_ms = 700 };
        const char *csv_path = "page_touch.csv";
        bool check = false;
        const struct option_spec options[] = {
                OPTION_NUMBER("reps", experiment.repetitions, "repetitions of every cell, at most"),
                OPTION_NUMBER("cell-ms", experiment.cell_ms, "milliseconds for every cell, at most"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_FLAG("check", check, "exit status 1 if a first write costs too much"),
                OPTION_END,
        };
        options_parse(argc, argv, "Touches n consecutive pages in a transaction, in several ways.", options);

        experiment.copy_warm_ns = primitive_copy_warm_ns();
        experiment.copy_large_ns = primitive_copy_large_ns();
        for (int way = 0; way < TOUCH_WAYS; way++)
                measure_way(&experiment, way);
        print_ways(&experiment);
        print_primitives(&experiment);
        print_gain(&experiment, TOUCH_READ_COLD, TOUCH_READ_COLD_ADVISED);
        print_gain(&experiment, TOUCH_WRITE_PLAIN, TOUCH_WRITE_ADVISED);
        int exceeded = print_verdicts(&experiment);
        write_csv(&experiment, csv_path);
        return check && exceeded ? EXIT_FAILURE : EXIT_SUCCESS;
}
