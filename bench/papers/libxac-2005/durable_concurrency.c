/* SPDX-License-Identifier: MIT */

/*
 * The thesis' tests A, B and C (bench/papers/libxac-2005/concurrency), durable: milliseconds per transaction with one
 * process and with two, both on the same page or each on its own, by views and by declared access.
 */

#include "bench/papers/libxac-2005/thesis_durable.h"

#include <inttypes.h>
#include <stdio.h>

enum { INTS = WORK_PAGE / sizeof(unsigned), WARM_UP_MS = 100 };

enum { TESTS = 3 };
static const struct test {
        char name;
        struct work work;
} tests[TESTS] = {
        { 'A', { .ints = 1, .repeats = 1, .pages = 1 } },
        { 'B', { .ints = INTS, .repeats = 1, .pages = 1 } },
        { 'C', { .ints = INTS, .repeats = 1000, .pages = 1 } },
};

enum { ALONE, TWO_OWN, TWO_SAME, CROWDS };
static const struct crowd {
        int processes;
        bool is_same_page;
        const char *name, *metric;
} crowds[CROWDS] = {
        [ALONE] = { 1, true, "1 process", "alone" },
        [TWO_OWN] = { 2, false, "2, own pages", "disjoint" },
        [TWO_SAME] = { 2, true, "2, same page", "same" },
};

enum { SYSTEMS = 2 };
static const struct system *const systems[SYSTEMS] = { &system_view, &system_declared };

struct experiment {
        struct samples ms[SYSTEMS][TESTS][CROWDS];
};

/* Milliseconds of the run for each transaction that was committed, by whichever process. */
static double run_cell(const struct durable *durable, int system, int test, int crowd)
{
        struct crew_plan plan = {
                .system = systems[system],
                .task = { .work = tests[test].work,
                          .is_same_page = crowds[crowd].is_same_page,
                          .is_durable = true,
                          .stride = 1 },
                .processes = crowds[crowd].processes,
                .threads = 1,
                .warm_up_ns = (uint64_t)WARM_UP_MS * 1000000,
                .run_ns = durable->seconds * 1000000000,
        };
        struct crew_outcome outcome;

        crew_run(&plan, &outcome);
        return 1000 / outcome.per_second;
}

static void measure(struct experiment *experiment, const struct durable *durable)
{
        for (uint64_t r = 0; r < durable->repetitions; r++)
                for (int system = 0; system < SYSTEMS; system++)
                        for (int test = 0; test < TESTS; test++)
                                for (int crowd = 0; crowd < CROWDS; crowd++) {
                                        durable_progress("concurrency: repetition %" PRIu64 ", %s, %c, %s", r + 1,
                                                         systems[system]->name, tests[test].name, crowds[crowd].name);
                                        samples_add(&experiment->ms[system][test][crowd],
                                                    run_cell(durable, system, test, crowd));
                                }
        durable_progress_end();
}

static void print_table(const struct experiment *experiment)
{
        printf("\nTests A, B and C, durable: milliseconds per transaction (minimum to maximum)\n\n%-18s", "");
        for (int crowd = 0; crowd < CROWDS; crowd++)
                printf(" %-27s", crowds[crowd].name);
        for (int system = 0; system < SYSTEMS; system++)
                for (int test = 0; test < TESTS; test++) {
                        printf("\n%c %-16s", tests[test].name, systems[system]->name);
                        for (int crowd = 0; crowd < CROWDS; crowd++) {
                                char text[DURABLE_TEXT];
                                printf(" %-27s", durable_spread(text, &experiment->ms[system][test][crowd], 1, 3));
                        }
                }
        printf("\n");
}

static void write_rows(struct csv *csv, struct samples *samples, int system, int test, int crowd)
{
        char metric[32];
        snprintf(metric, sizeof(metric), "%c_%s", tests[test].name, crowds[crowd].metric);
        struct csv_series series = { systems[system]->name,
                                     crowds[crowd].processes,
                                     1,
                                     tests[test].work.ints * tests[test].work.repeats,
                                     metric,
                                     "ms_per_transaction" };
        csv_rows(csv, &series, samples);
        samples_free(samples);
}

int durable_concurrency(struct durable *durable)
{
        static struct experiment experiment;

        measure(&experiment, durable);
        print_table(&experiment);
        for (int system = 0; system < SYSTEMS; system++)
                for (int test = 0; test < TESTS; test++)
                        for (int crowd = 0; crowd < CROWDS; crowd++)
                                write_rows(&durable->csv, &experiment.ms[system][test][crowd], system, test, crowd);
        return 0;
}
