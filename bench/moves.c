/* SPDX-License-Identifier: MIT */

/*
 * Moving pages against copying them: a transaction takes n pages to places that are free, as a rebalance of a packed
 * memory array does. What was there is there no more: the places that were left read as zeros, either way.
 *
 *      move            one xac_page_move() of all n
 *      move_singly     n of them, of a page each: what spreading out a window is
 *      copy            each page is copied, and cleared where it was
 *
 * By declared access and in a view; where nothing is logged (XAC_VOLATILE), and where the transaction waits until the
 * log is on disk. Each way has an environment of its own, and they run in turn: A, B, C, A, B, C.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { SIZES = 10, RUN_MAX = 512, PAGES = 4 * RUN_MAX, HALF = PAGES / 2, PAGES_PER_REPETITION = 64, LEAST = 3 };

enum way { MOVE, MOVE_SINGLY, COPY, WAYS };
enum { VOLATILE, DURABLE, PROMISES };
enum { DECLARED, VIEW, ACCESSES };

static const char *const way_names[WAYS] = { "move", "move_singly", "copy" };
static const char *const promise_names[PROMISES] = { "volatile", "durable" };
static const char *const access_names[ACCESSES] = { "declared", "view" };

/* A way at work. The pages lie in one half of its file, and are taken to the other, run after run; then back. */
struct bench {
        enum way way;
        int access;
        struct scratch scratch;
        size_t source; /* the first page of the half they were in, when all were in one */
        size_t at;     /* how many of them have been taken to the other */
};

static struct experiment {
        uint64_t repetitions, cell_ms;
        struct samples ns[PROMISES][ACCESSES][WAYS][SIZES]; /* of a page */
        struct samples log_bytes[ACCESSES][WAYS][SIZES];    /* of a page; durable */
} experiment = { .repetitions = 1000, .cell_ms = 300 };

/* ---- pages ---- */

/* Every byte counts: a log that left out what has not changed would show little of a copy. */
static void fill_page(char *page, size_t number)
{
        uint64_t random = number + 1;
        for (size_t at = 0; at < SCRATCH_PAGE; at += sizeof(random)) {
                (void)measure_random(&random);
                memcpy(page + at, &random, sizeof(random));
        }
}

static void fill(const struct bench *bench)
{
        for (size_t n = 0; n < HALF; n++) {
                must(xbegin(bench->scratch.env, 0), "xbegin");
                char *page = xac_page_write(bench->scratch.env, scratch_page(&bench->scratch, n));
                if (page)
                        fill_page(page, n);
                must(xend(bench->scratch.env), "xend");
        }
}

/* Ends the program unless every page is where it belongs, and all zeros where it was. */
static void check_pages(const struct bench *bench)
{
        static const char zeros[SCRATCH_PAGE];
        static char expected[SCRATCH_PAGE];
        xac_env *env = bench->scratch.env;

        must(xbegin(env, XAC_RDONLY), "xbegin");
        for (size_t n = 0; n < HALF; n++) {
                const size_t here = n < bench->at ? HALF - bench->source : bench->source, there = HALF - here;
                const void *page = xac_page_read(env, scratch_page(&bench->scratch, here + n));
                const void *left = xac_page_read(env, scratch_page(&bench->scratch, there + n));
                fill_page(expected, n);
                if (!page || !left || memcmp(page, expected, SCRATCH_PAGE) != 0 ||
                    memcmp(left, zeros, SCRATCH_PAGE) != 0)
                        scratch_fail(XAC_CORRUPT, "a page is not what it was");
        }
        must(xend(env), "xend");
}

static void open_way(struct bench *bench, enum way way, int access, int promise)
{
        *bench = (struct bench){ .way = way, .access = access };
        scratch_make(&bench->scratch, PAGES);
        bench->scratch.is_durable = promise == DURABLE;
        scratch_open(&bench->scratch, 0);
        fill(bench);
}

static void close_way(struct bench *bench)
{
        check_pages(bench);
        scratch_close(&bench->scratch);
        scratch_remove(&bench->scratch);
}

/* ---- one transaction ---- */

/* Nobody else is there, with whom it could conflict. */
static char *writable(const struct bench *bench, char *page)
{
        char *declared = bench->access == DECLARED ? xac_page_write(bench->scratch.env, page) : page;
        if (declared)
                return declared;
        scratch_fail(XAC_CONFLICT, "xac_page_write");
}

static void copy_page(const struct bench *bench, char *to, char *from)
{
        from = writable(bench, from);
        memcpy(writable(bench, to), from, SCRATCH_PAGE);
        memset(from, 0, SCRATCH_PAGE);
}

static void take_pages(const struct bench *bench, char *to, char *from, size_t n)
{
        if (bench->way == MOVE) {
                must(xac_page_move(bench->scratch.env, to, from, n), "xac_page_move");
                return;
        }
        for (size_t i = 0; i < n; i++) {
                const size_t at = i * SCRATCH_PAGE;
                if (bench->way == MOVE_SINGLY)
                        must(xac_page_move(bench->scratch.env, to + at, from + at, 1), "xac_page_move");
                else
                        copy_page(bench, to + at, from + at);
        }
}

static void run_transaction(struct bench *bench, size_t n)
{
        if (bench->at + n > HALF) {
                bench->source = HALF - bench->source;
                bench->at = 0;
        }
        char *from = scratch_page(&bench->scratch, bench->source + bench->at);
        char *to = scratch_page(&bench->scratch, HALF - bench->source + bench->at);
        bench->at += n;
        must(xbegin(bench->scratch.env, 0), "xbegin");
        take_pages(bench, to, from, n);
        must(xend(bench->scratch.env), "xend");
}

/* ---- measuring ---- */

static size_t pages_of(int size)
{
        return (size_t)1 << size;
}

/* Nanoseconds per page. */
static double repeat(struct bench *bench, int promise, size_t n)
{
        const bool is_short = promise == VOLATILE && n < PAGES_PER_REPETITION;
        const size_t transactions = is_short ? PAGES_PER_REPETITION / n : 1;
        const uint64_t start = measure_now_ns();

        for (size_t i = 0; i < transactions; i++)
                run_transaction(bench, n);
        return (double)(measure_now_ns() - start) / (double)(transactions * n);
}

static uint64_t record_bytes(const struct bench *bench)
{
        xac_stats stats;
        must(xac_stat(bench->scratch.env, &stats), "xac_stat");
        return stats.log_record_bytes;
}

static void repeat_durably(struct bench *bench, int size)
{
        const uint64_t before = record_bytes(bench);
        struct samples *ns = &experiment.ns[DURABLE][bench->access][bench->way][size];

        samples_add(ns, repeat(bench, DURABLE, pages_of(size)));
        samples_add(&experiment.log_bytes[bench->access][bench->way][size],
                    (double)(record_bytes(bench) - before) / (double)pages_of(size));
}

/* All of the pages lie in one half again, whatever the next n is. */
static void turn(struct bench *bench)
{
        while (bench->at < HALF)
                run_transaction(bench, 1);
}

static void measure_cell(struct bench benches[WAYS], int promise, int size)
{
        const uint64_t end = measure_now_ns() + experiment.cell_ms * 1000000;

        for (uint64_t i = 0; i < experiment.repetitions && (i < LEAST || measure_now_ns() < end); i++)
                for (int w = 0; w < WAYS; w++) {
                        struct samples *ns = &experiment.ns[promise][benches[w].access][w][size];
                        if (promise == DURABLE)
                                repeat_durably(&benches[w], size);
                        else
                                samples_add(ns, repeat(&benches[w], VOLATILE, pages_of(size)));
                }
        for (int w = 0; w < WAYS; w++)
                turn(&benches[w]);
}

static void show_progress(int promise, int access, int size)
{
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K%s, %s, %zu pages", promise_names[promise], access_names[access],
                        pages_of(size));
}

static void measure(int promise, int access)
{
        struct bench benches[WAYS];

        for (int w = 0; w < WAYS; w++)
                open_way(&benches[w], (enum way)w, access, promise);
        for (int size = 0; size < SIZES; size++) {
                show_progress(promise, access, size);
                measure_cell(benches, promise, size);
        }
        for (int w = 0; w < WAYS; w++)
                close_way(&benches[w]);
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K");
}

/* ---- results ---- */

/* From how many pages on moving is never dearer; 0: it is for the most that was tried. */
static size_t crossover(int promise, int access, enum way way)
{
        size_t least = 0;
        for (int size = SIZES - 1; size >= 0; size--) {
                const struct samples *moved = &experiment.ns[promise][access][way][size];
                const struct samples *copied = &experiment.ns[promise][access][COPY][size];
                if (samples_median(moved) > samples_median(copied))
                        break;
                least = pages_of(size);
        }
        return least;
}

static void print_crossover(int promise, int access, enum way way)
{
        const size_t least = crossover(promise, access, way);

        if (least)
                printf("%s is no dearer than copy from %zu pages on\n", way_names[way], least);
        else
                printf("%s is dearer than copy even for %d pages\n", way_names[way], RUN_MAX);
}

static void print_table(int promise, int access)
{
        printf("\n%s, %s: nanoseconds per page%s, medians\n\n%6s", promise_names[promise], access_names[access],
               promise == DURABLE ? " (bytes of log)" : "", "pages");
        for (int w = 0; w < WAYS; w++)
                printf(" %20s", way_names[w]);
        for (int size = 0; size < SIZES; size++) {
                printf("\n%6zu", pages_of(size));
                for (int w = 0; w < WAYS; w++) {
                        const double ns = samples_median(&experiment.ns[promise][access][w][size]);
                        if (promise == DURABLE)
                                printf(" %11.0f (%6.0f)", ns, samples_median(&experiment.log_bytes[access][w][size]));
                        else
                                printf(" %20.0f", ns);
                }
        }
        printf("\n\n");
        print_crossover(promise, access, MOVE);
        print_crossover(promise, access, MOVE_SINGLY);
}

static void write_rows(struct csv *csv, int promise, int access)
{
        for (int w = 0; w < WAYS; w++)
                for (int size = 0; size < SIZES; size++) {
                        char metric[64];
                        struct csv_series series = {
                                access_names[access], 1, 1, pages_of(size), metric, "ns_per_page"
                        };
                        snprintf(metric, sizeof(metric), "%s_%s", promise_names[promise], way_names[w]);
                        csv_rows(csv, &series, &experiment.ns[promise][access][w][size]);
                        if (promise == VOLATILE)
                                continue;
                        snprintf(metric, sizeof(metric), "log_%s", way_names[w]);
                        series.unit = "bytes_per_page";
                        csv_rows(csv, &series, &experiment.log_bytes[access][w][size]);
                }
}

int main(int argc, char **argv)
{
        const char *csv_path = "moves.csv", *directory = NULL;
        struct csv csv;
        const struct option_spec options[] = {
                OPTION_NUMBER("reps", experiment.repetitions, "repetitions of every cell, at most"),
                OPTION_NUMBER("cell-ms", experiment.cell_ms, "milliseconds for every cell, at most"),
                OPTION_TEXT("directory", directory, "where the environments lie, instead of $TMPDIR"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        options_parse(argc, argv, "Takes n pages to other places in a transaction: by moving, and by copying them.",
                      options);
        if (directory && setenv("TMPDIR", directory, 1) != 0)
                options_refuse("cannot be used", directory);
        csv_open(&csv, csv_path, "moves");
        for (int promise = 0; promise < PROMISES; promise++)
                for (int access = 0; access < ACCESSES; access++) {
                        measure(promise, access);
                        print_table(promise, access);
                        write_rows(&csv, promise, access);
                }
        csv_close(&csv);
        return EXIT_SUCCESS;
}
