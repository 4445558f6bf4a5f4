/* SPDX-License-Identifier: MIT */

/*
 * Every page of a column is written once, in an order by chance, and at so many points on the way a snapshot is
 * created: how long does that take, and how many mappings are there?
 *
 * Rewiring's snapshot has a mapping for each run of pages, as has the column; it ends when the process may have no
 * more. Its older snapshot is dropped before. libxac's is there until the newer one is.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "bench/papers/anker/snapshots/columns.h"
#include "bench/papers/anker/snapshots/creation.h"
#include "bench/papers/anker/snapshots/rewired.h"
#include "bench/support/memory.h"
#include "bench/support/page_order.h"
#include "bench/support/table.h"

enum { PARTS = 10 };

static const char *const headings[] = { "method", "written", "creation us", "and a read us", "mappings", NULL };
static const char *const part_headings[] = { "method",        "written",  "creation us", "max",
                                             "and a read us", "read max", "mappings",    NULL };

/* All points go to a file; the parts of the way, which are medians of many points, are printed. */
struct series {
        struct table points, parts;
        uint64_t step; /* pages */
        uint64_t point, count;
        struct samples create_us, read_us;
        double mappings;
};

static void print_part(struct series *series, const char *method)
{
        if (!series->create_us.count)
                return;
        table_text(&series->parts, method);
        table_number(&series->parts, (double)(series->point * series->step), 0);
        table_number(&series->parts, samples_median(&series->create_us), 1);
        table_number(&series->parts, samples_max(&series->create_us), 1);
        table_number(&series->parts, samples_median(&series->read_us), 1);
        table_number(&series->parts, samples_max(&series->read_us), 1);
        table_number(&series->parts, series->mappings, 0);
        samples_free(&series->create_us);
        samples_free(&series->read_us);
}

static void print_point(struct series *series, const char *method, double create_us, double read_us, double mappings)
{
        const uint64_t part = series->count / PARTS ? series->count / PARTS : 1;

        series->point++;
        series->mappings = mappings;
        table_text(&series->points, method);
        table_number(&series->points, (double)(series->point * series->step), 0);
        table_number(&series->points, create_us, 1);
        table_number(&series->points, read_us, 1);
        table_number(&series->points, mappings, 0);
        samples_add(&series->create_us, create_us);
        samples_add(&series->read_us, read_us);
        if (series->point % part == 0)
                print_part(series, method);
}

static void end_method(struct series *series, const char *method)
{
        print_part(series, method);
        series->point = 0;
}

/* ---- rewiring ---- */

static int write_pages(struct rewired *rewired, struct page_order *order, uint64_t pages, uint64_t *last)
{
        int err = 0;
        for (uint64_t i = 0; i < pages && !err; i++) {
                *last = page_order_take(order);
                err = rewired_write(rewired, *last);
        }
        return err;
}

static int measure_rewired(struct series *series, struct rewired *rewired, struct page_order *order)
{
        char *snapshot;
        uint64_t last = 0;
        int err = write_pages(rewired, order, series->step, &last);
        if (err)
                return err;
        const uint64_t start = measure_now_ns();
        err = rewired_snapshot(rewired, 0, rewired->pages, &snapshot);
        if (err)
                return err;
        const uint64_t created = measure_now_ns();
        must(*(volatile uint64_t *)(snapshot + last * PAGE) == last ? 0 : -EIO, "a rewired page");
        const uint64_t was_read = measure_now_ns();
        rewired_drop(snapshot, rewired->pages);
        print_point(series, "rewiring", (double)(created - start) / 1e3, (double)(was_read - start) / 1e3,
                    2 * (double)rewired_runs(rewired, 0, rewired->pages));
        return 0;
}

static void run_rewired(struct series *series, const struct creation *column)
{
        struct rewired rewired;
        struct page_order order;
        int err = 0;

        rewired_open(&rewired, column->pages);
        creation_fill(column, rewired.base);
        page_order_make(&order, column->pages, column->seed);
        for (uint64_t i = 0; i < series->count && !err; i++)
                err = measure_rewired(series, &rewired, &order);
        end_method(series, "rewiring");
        if (err)
                printf("rewiring ends here: %s\n", xac_strerror(err));
        page_order_free(&order);
        rewired_close(&rewired);
}

/* ---- libxac ---- */

static void measure_snapshot(struct series *series, struct columns *columns, struct page_order *order,
                             xac_snapshot **snapshot)
{
        xac_snapshot *older = *snapshot;
        char name[32];
        uint64_t last = 0;

        columns_change(columns, series->step);
        for (uint64_t i = 0; i < series->step; i++)
                last = page_order_take(order);
        const uint64_t start = measure_now_ns();
        must(xac_snapshot_refresh(older, snapshot), "xac_snapshot_refresh");
        const char *column = xac_snapshot_map(*snapshot, columns_name(0, name), NULL);
        const uint64_t created = measure_now_ns();
        must(column == MAP_FAILED ? -errno : 0, "xac_snapshot_map");
        const uint64_t *page = (const uint64_t *)(column + last * PAGE);
        must(page[0] == last && page[COUNTER] == 2 ? 0 : -EIO, "a page of a snapshot");
        const uint64_t was_read = measure_now_ns();
        must(xac_snapshot_close(older), "xac_snapshot_close");
        print_point(series, "libxac", (double)(created - start) / 1e3, (double)(was_read - start) / 1e3,
                    (double)memory_mappings());
}

/* At the end the whole column is read. */
static void run_snapshots(struct series *series, const struct creation *column)
{
        struct columns columns;
        struct page_order order; /* the same as the changer's */
        xac_snapshot *snapshot;
        char name[32];

        columns_start(&columns, 1, column->pages, column->seed);
        columns_open(&columns);
        page_order_make(&order, column->pages, column->seed);
        must(xac_snapshot_open(columns.scratch.env, 0, &snapshot), "xac_snapshot_open");
        for (uint64_t i = 0; i < series->count; i++)
                measure_snapshot(series, &columns, &order, &snapshot);
        end_method(series, "libxac");
        const char *bytes = xac_snapshot_map(snapshot, columns_name(0, name), NULL);
        columns_check(&columns, bytes, memory_sum(bytes, columns_byte_len(&columns)));
        must(xac_snapshot_close(snapshot), "xac_snapshot_close");
        page_order_free(&order);
        columns_close(&columns);
        columns_stop(&columns);
}

void series_run(struct bench *bench)
{
        const struct creation column = { 1, bench_column_pages(bench), bench->rounds, bench->seed };
        struct series series = { .count = bench->points < column.pages ? bench->points : column.pages };

        series.step = column.pages / series.count;
        printf("\nEach page of a column of %" PRIu64 " MB is written once; a snapshot after every %" PRIu64
               " of them, and a read of the page written last: medians of a part of the way\n\n",
               bench->column_mb, series.step);
        table_open_quietly(&series.points, bench->tsv, "series", headings);
        table_open(&series.parts, bench->tsv, "series-parts", part_headings);
        run_rewired(&series, &column);
        run_snapshots(&series, &column);
        table_close(&series.parts);
        table_close(&series.points);
}
