/* SPDX-License-Identifier: MIT */

/*
 * One column of 200 MB, of which another process has changed so many pages: what it takes to begin, to scan it for the
 * first time, and once more, against a scan of plain memory right before and right after.
 *
 * The first time ever in an environment is reported by itself: copies are made then that are only brought up to date
 * later on. All that follows is the steady state.
 */

#include <inttypes.h>
#include <stdio.h>

#include "bench/papers/anker/snapshots/reading.h"
#include "bench/support/memory.h"
#include "bench/support/table.h"

enum {
        WARM_ROUNDS = 2,
        WARM = 3 /* times a column, of memory */
};

static const double BEGIN_US = 50, SECOND = 1.1, MAPPINGS = 1000;

/* Of 51,200 pages, and how many times longer than plain memory the first scan may take. */
static const struct change {
        uint64_t pages;
        double first;
} changes[] = { { 0, 1.2 }, { 500, 1.6 }, { 5000, 3.6 }, { 50000, 4.5 } };

static const struct way {
        const char *name;
        int threads;
        bool is_view;
} ways[] = { { "view", 1, true }, { "snapshot", 1, false }, { "snapshot", 2, false } };

static const char *const headings[] = { "way",      "threads",   "modified", "when",  "begin us",  "begin min",
                                        "first ms", "second ms", "plain ms", "first", "first min", "first max",
                                        "second",   "end us",    "mappings", NULL };

static void print_row(struct table *table, const struct way *way, uint64_t pages, const char *when,
                      const struct reading_samples *samples)
{
        table_text(table, way->name);
        table_number(table, way->threads, 0);
        table_number(table, (double)pages, 0);
        table_text(table, when);
        table_number(table, samples_median(&samples->begin_us), 1);
        table_number(table, samples_min(&samples->begin_us), 1);
        table_number(table, samples_median(&samples->first_us) / 1e3, 2);
        table_number(table, samples_median(&samples->second_us) / 1e3, 2);
        table_number(table, samples_median(&samples->plain_us) / 1e3, 2);
        table_number(table, samples_median(&samples->first_ratio), 2);
        table_number(table, samples_min(&samples->first_ratio), 2);
        table_number(table, samples_max(&samples->first_ratio), 2);
        table_number(table, samples_median(&samples->second_ratio), 2);
        table_number(table, samples_median(&samples->end_us), 1);
        table_number(table, samples_max(&samples->mappings), 0);
}

/* What the steady state comes to, for the verdicts. */
struct outcome {
        double begin_us, first, second, mappings;
};

static void measure_steady(struct reading *reading, uint64_t pages, uint64_t rounds, struct reading_samples *samples)
{
        struct reading_round round;

        for (uint64_t r = 0; r < WARM_ROUNDS + rounds; r++) {
                reading_round(reading, pages, &round);
                if (r >= WARM_ROUNDS)
                        reading_samples_add(samples, &round);
        }
}

static struct outcome measure(const struct bench *bench, struct table *table, const struct way *way, uint64_t pages,
                              const char *plain)
{
        struct columns columns;
        struct reading reading = { &columns, plain, way->threads, way->is_view, NULL, NULL };
        struct reading_samples once = { 0 }, samples = { 0 };
        struct reading_round round;

        columns_start(&columns, 1, bench_column_pages(bench), bench->seed);
        columns_open(&columns);
        if (way->is_view)
                columns_map(&columns);
        memory_warm(WARM * columns_byte_len(&columns));
        reading_round(&reading, pages, &round);
        reading_samples_add(&once, &round);
        measure_steady(&reading, pages, bench->rounds, &samples);
        reading_stop(&reading);
        columns_close(&columns);
        columns_stop(&columns);
        print_row(table, way, pages, "once", &once);
        print_row(table, way, pages, "steady", &samples);
        const struct outcome outcome = { samples_median(&samples.begin_us), samples_median(&samples.first_ratio),
                                         samples_median(&samples.second_ratio), samples_max(&samples.mappings) };
        reading_samples_free(&once);
        reading_samples_free(&samples);
        return outcome;
}

static int judge(const struct way *way, const struct change *change, const struct outcome *outcome)
{
        char what[80];
        const int length = snprintf(what, sizeof(what), "%s, %d thread%s, %" PRIu64 " of 51200: ", way->name,
                                    way->threads, way->threads > 1 ? "s" : "", change->pages);
        char *figure = what + length;
        const size_t room = sizeof(what) - (size_t)length;
        int failures = 0;

        snprintf(figure, room, "begin");
        failures += scratch_verdict(what, outcome->begin_us, BEGIN_US, "us");
        snprintf(figure, room, "first scan");
        failures += scratch_verdict(what, outcome->first, change->first, "times");
        snprintf(figure, room, "second scan");
        failures += scratch_verdict(what, outcome->second, SECOND, "times");
        snprintf(figure, room, "mappings");
        return failures + scratch_verdict(what, outcome->mappings, MAPPINGS, "mappings");
}

/* The base is plain memory as programs have it; what huge pages would make of it is said beside it. */
static void print_plain(const char *plain, size_t byte_len)
{
        char *huge = memory_make_huge(byte_len);
        struct samples small_ms = { 0 }, huge_ms = { 0 };

        for (int i = 0; i < 7; i++) {
                const uint64_t start = measure_now_ns();
                const uint64_t sum = memory_sum(plain, byte_len);
                const uint64_t half = measure_now_ns();
                must(sum == memory_sum(huge, byte_len) ? 0 : -1, "the sum of plain memory");
                samples_add(&small_ms, (double)(half - start) / 1e6);
                samples_add(&huge_ms, (double)(measure_now_ns() - half) / 1e6);
        }
        printf("Plain memory of %zu MB: %.2f ms a scan, the same in huge pages %.2f ms\n\n", byte_len >> 20,
               samples_median(&small_ms), samples_median(&huge_ms));
        samples_free(&small_ms);
        samples_free(&huge_ms);
        memory_free(huge, byte_len);
}

enum { CHANGES = sizeof(changes) / sizeof(changes[0]), WAYS = sizeof(ways) / sizeof(ways[0]) };

void scans_run(struct bench *bench)
{
        const uint64_t pages = bench_column_pages(bench);
        char *plain = memory_make(pages * PAGE);
        struct outcome outcome[WAYS][CHANGES];
        struct table table;

        printf("\nA column of %" PRIu64 " MB, changed by another process: medians of %" PRIu64
               " rounds; first, second: times a scan of plain memory\n",
               bench->column_mb, bench->rounds);
        print_plain(plain, pages * PAGE);
        table_open(&table, bench->tsv, "scans", headings);
        for (int w = 0; w < WAYS; w++)
                for (int c = 0; c < CHANGES; c++)
                        outcome[w][c] = measure(bench, &table, &ways[w], bench_share(pages, changes[c].pages), plain);
        table_close(&table);
        for (int w = 0; w < WAYS; w++)
                for (int c = 0; c < CHANGES; c++)
                        bench->failures += judge(&ways[w], &changes[c], &outcome[w][c]);
        memory_free(plain, pages * PAGE);
}

/* ---- over the share of pages that were changed ---- */

static const struct way snapshots[] = { { "snapshot", 1, false }, { "snapshot", 2, false } };
static const double percents[] = { 0, 0.1, 0.5, 1, 2, 5, 10, 25, 50, 75, 100 };

static const char *const percent_headings[] = { "threads", "percent",   "pages",    "begin us", "first ms", "min ms",
                                                "max ms",  "second ms", "plain ms", "first",    "second",   NULL };

static void print_percent(struct table *table, int threads, double percent, uint64_t pages,
                          const struct reading_samples *samples)
{
        table_number(table, threads, 0);
        table_number(table, percent, 1);
        table_number(table, (double)pages, 0);
        table_number(table, samples_median(&samples->begin_us), 1);
        table_number(table, samples_median(&samples->first_us) / 1e3, 2);
        table_number(table, samples_min(&samples->first_us) / 1e3, 2);
        table_number(table, samples_max(&samples->first_us) / 1e3, 2);
        table_number(table, samples_median(&samples->second_us) / 1e3, 2);
        table_number(table, samples_median(&samples->plain_us) / 1e3, 2);
        table_number(table, samples_median(&samples->first_ratio), 2);
        table_number(table, samples_median(&samples->second_ratio), 2);
}

static void measure_percents(const struct bench *bench, struct table *table, int threads, const char *plain)
{
        struct columns columns;
        struct reading reading = { &columns, plain, threads, false, NULL, NULL };
        struct reading_round round;

        columns_start(&columns, 1, bench_column_pages(bench), bench->seed);
        columns_open(&columns);
        memory_warm(WARM * columns_byte_len(&columns));
        for (int i = 0; i < WARM_ROUNDS; i++)
                reading_round(&reading, columns.pages, &round); /* makes all copies, for two snapshots */
        for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
                struct reading_samples samples = { 0 };
                const uint64_t pages = (uint64_t)((double)columns.pages * percents[i] / 100);
                measure_steady(&reading, pages, bench->rounds, &samples);
                print_percent(table, threads, percents[i], pages, &samples);
                reading_samples_free(&samples);
        }
        reading_stop(&reading);
        columns_close(&columns);
        columns_stop(&columns);
}

void percents_run(struct bench *bench)
{
        const uint64_t pages = bench_column_pages(bench);
        char *plain = memory_make(pages * PAGE);
        struct table table;

        printf("\nThe first scan of a snapshot of %" PRIu64
               " MB over the share of pages changed since the one before: medians "
               "of %" PRIu64 " rounds\n\n",
               bench->column_mb, bench->rounds);
        table_open(&table, bench->tsv, "percents", percent_headings);
        for (size_t w = 0; w < sizeof(snapshots) / sizeof(snapshots[0]); w++)
                measure_percents(bench, &table, snapshots[w].threads, plain);
        table_close(&table);
        memory_free(plain, pages * PAGE);
}
