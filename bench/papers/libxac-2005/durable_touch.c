/* SPDX-License-Identifier: MIT */

/*
 * The page-touch experiment of the thesis (figures 4-1 to 4-4), durable: a transaction writes to n
 * consecutive pages, and waits until they are on disk. Beside it the same in a volatile
 * environment: the difference is the log's.
 */

#include "bench/papers/libxac-2005/thesis_durable.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench/papers/libxac-2005/touch.h"

enum { SIZES = 11, PAGES = 2048, TRANSACTIONS = 30, WAYS = 4 };

static const struct touch_way ways[WAYS] = {
        { "write_plain", XAC_WRITE, TOUCH_PLAIN, 0, true },
        { "write_advised", XAC_WRITE, TOUCH_ADVISED, 0, true },
        { "write_declared", XAC_WRITE, TOUCH_DECLARED, 0, true },
        { "volatile_write_declared", XAC_WRITE, TOUCH_DECLARED, 0, false },
};

struct experiment {
        struct samples us_per_page[WAYS][SIZES];
};

static size_t pages_of(int size)
{
        return (size_t)1 << size;
}

static void measure_cell(struct touch *touch, size_t n, struct samples *samples)
{
        for (int i = 0; i < TRANSACTIONS; i++) {
                const uint64_t start_ns = measure_now_ns();
                touch_pages(touch, n);
                samples_add(samples, (double)(measure_now_ns() - start_ns) / 1000 / (double)n);
        }
}

/* Every size in turn, so that a slow moment of the disk does not fall upon one of them. */
static void measure_way(const struct durable *durable, int way, struct samples samples[SIZES])
{
        struct touch touch;

        durable_progress("touch: %s", ways[way].name);
        touch_open(&touch, &ways[way], PAGES);
        for (uint64_t r = 0; r < durable->repetitions; r++)
                for (int size = 0; size < SIZES; size++)
                        measure_cell(&touch, pages_of(size), &samples[size]);
        touch_close(&touch);
        durable_progress_end();
}

static void print_table(const struct experiment *experiment)
{
        printf("\nMicroseconds per page of a transaction that writes n pages (minimum to maximum)\n\n%6s", "n");
        for (int way = 0; way < WAYS; way++)
                printf(" %-27s", ways[way].name);
        for (int size = 0; size < SIZES; size++) {
                printf("\n%6zu", pages_of(size));
                for (int way = 0; way < WAYS; way++) {
                        char text[DURABLE_TEXT];
                        printf(" %-27s", durable_spread(text, &experiment->us_per_page[way][size], 1, 2));
                }
        }
        printf("\n");
}

int durable_touch(struct durable *durable)
{
        static struct experiment experiment;

        for (int way = 0; way < WAYS; way++)
                measure_way(durable, way, experiment.us_per_page[way]);
        print_table(&experiment);
        for (int way = 0; way < WAYS; way++)
                for (int size = 0; size < SIZES; size++) {
                        struct csv_series series = { "libxac", 1, 1, pages_of(size), ways[way].name, "us_per_page" };
                        csv_rows(&durable->csv, &series, &experiment.us_per_page[way][size]);
                        samples_free(&experiment.us_per_page[way][size]);
                }
        return 0;
}
