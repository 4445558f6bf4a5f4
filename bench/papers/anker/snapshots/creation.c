/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/creation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/papers/anker/snapshots/columns.h"
#include "bench/support/memory.h"
#include "bench/support/table.h"

enum { LEVELS = 4 };
static const uint64_t level[LEVELS] = { 0, 500, 5000, 50000 }; /* of 51,200 pages */
static const int column_counts[] = { 1, 25, 50 };

static const char *const headings[] = { "columns", "MB each",        "method",   "modified", "creation us", "min",
                                        "max",     "with a scan ms", "write us", "mappings", NULL };

void creation_fill(const struct creation *creation, char *columns)
{
        for (int c = 0; c < creation->columns; c++)
                for (uint64_t p = 0; p < creation->pages; p++) {
                        uint64_t *word = (uint64_t *)(columns + ((uint64_t)c * creation->pages + p) * PAGE);
                        for (size_t i = 0; i < PAGE / sizeof(*word); i++)
                                word[i] = 0;
                        columns_fill_page((char *)word, p);
                }
}

void creation_check(const struct creation *creation, uint64_t changed, uint64_t sum)
{
        const uint64_t right = columns_first_sum(creation->pages) + changed;
        if (sum == right)
                return;
        fprintf(stderr, "the sum of a column is %" PRIu64 " instead of %" PRIu64 "\n", sum, right);
        exit(EXIT_FAILURE);
}

/* modified: UINT64_MAX says that it makes no difference. */
static void print_row(struct table *table, const struct creation *creation, const char *method, uint64_t modified,
                      struct creation_figures *figures)
{
        const bool is_done = !figures->err;

        table_number(table, creation->columns, 0);
        table_number(table, (double)(creation->pages * PAGE) / (1 << 20), 0);
        table_text(table, method);
        if (modified == UINT64_MAX)
                table_text(table, "any");
        else
                table_number(table, (double)modified, 0);
        for (int i = 0; i < 4 && !is_done; i++)
                table_text(table, "-");
        if (is_done) {
                table_number(table, samples_median(&figures->create_us), 1);
                table_number(table, samples_min(&figures->create_us), 1);
                table_number(table, samples_max(&figures->create_us), 1);
                table_number(table, samples_median(&figures->with_scan_us) / 1e3, 2);
        }
        if (figures->write_us.count)
                table_number(table, samples_median(&figures->write_us), 2);
        else
                table_text(table, "-");
        table_number(table, figures->mappings, 0);
        samples_free(&figures->create_us);
        samples_free(&figures->with_scan_us);
        samples_free(&figures->write_us);
}

/* Where the mappings of the system end, the figures say how many there would have been, or were, then. */
static void measure_rewiring(const struct creation *creation, struct table *table)
{
        struct creation_figures figures[LEVELS] = { 0 };
        uint64_t changed[LEVELS];

        for (int i = 0; i < LEVELS; i++)
                changed[i] = bench_share(creation->pages, level[i]);
        creation_by_rewiring(creation, LEVELS, changed, figures);
        for (int i = 0; i < LEVELS; i++)
                print_row(table, creation, "rewiring", changed[i], &figures[i]);
}

static void measure(const struct creation *creation, struct table *table)
{
        struct creation_figures copy = { 0 }, fresh_copy = { 0 }, forked = { 0 };

        memory_warm(2 * creation_all_pages(creation) * PAGE);
        creation_by_copy(creation, false, &copy);
        print_row(table, creation, "copy", UINT64_MAX, &copy);
        creation_by_copy(creation, true, &fresh_copy);
        print_row(table, creation, "fresh copy", UINT64_MAX, &fresh_copy);
        creation_by_fork(creation, &forked);
        print_row(table, creation, "fork", UINT64_MAX, &forked);
        measure_rewiring(creation, table);
        for (int i = 0; i < LEVELS; i++) {
                struct creation_figures ours = { 0 };
                const uint64_t changed = bench_share(creation->pages, level[i]);
                creation_by_snapshot(creation, changed, &ours);
                print_row(table, creation, "libxac", changed, &ours);
        }
}

void creation_run(struct bench *bench)
{
        struct table table;

        printf("\nCreating a snapshot of 1, 25 and 50 columns: medians of %" PRIu64
               " rounds; modified: pages of each column. The paper's columns\nhave 200 MB; those of 25 and 50 are "
               "smaller here, "
               "%" PRIu64
               " MB together, and as large a share of their pages is modified.\nrewiring: without figures where the "
               "process would need more mappings than it may have (vm.max_map_count)\n\n",
               bench->rounds, bench->many_mb);
        table_open(&table, bench->tsv, "creation", headings);
        for (size_t i = 0; i < sizeof(column_counts) / sizeof(column_counts[0]); i++) {
                const int columns = column_counts[i];
                const uint64_t pages =
                        columns == 1 ? bench_column_pages(bench) : (bench->many_mb << 20) / PAGE / (uint64_t)columns;
                const struct creation creation = { columns, pages, bench->rounds, bench->seed };
                measure(&creation, &table);
        }
        table_close(&table);
}
