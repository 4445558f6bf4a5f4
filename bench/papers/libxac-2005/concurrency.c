/* SPDX-License-Identifier: MIT */

/*
 * Several workers at once: the thesis' tests A, B and C (figures 4-5 and 4-6, table 4.9), and one more.
 *
 *      A   a transaction increments the first integer of a page
 *      B   ... every integer of the page
 *      C   ... the same 1,000 times over
 *      D   a transaction reads four random pages among 4,096, and increments the first integer of another:
 *          what bench/hot_path measures for one process; by declared access alone
 *
 * by one, two and four processes or threads, all on the same page or each on a page of its own.
 * Beside libxac the same loops run on LMDB, on plain memory under a mutex and without one, and on libxac with
 * an environment for each worker.
 *
 * A repetition runs every cell once, neighbours in the table one after the other; ratios are
 * taken within a repetition, and medians over the repetitions. Workers are pinned to the processors in turn, so that
 * the libraries are measured, and not where the kernel happened to put two of them.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/crew.h"
#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { A, B, C, D, TESTS };
static const struct test {
        char name;
        struct work work;
        const char *what;
} tests[TESTS] = {
        [A] = { 'A', { 1, 1, 0, 1 }, "the first integer of a page" },
        [B] = { 'B', { WORK_PAGE / sizeof(unsigned), 1, 0, 1 }, "every integer of a page" },
        [C] = { 'C', { WORK_PAGE / sizeof(unsigned), 1000, 0, 1 }, "every integer of a page, 1,000 times" },
        [D] = { 'D', { 1, 1, 4, 4096 }, "4 random pages of 4,096 read, 1 written" },
};

enum { SAME, DISJOINT, PLACES };
static const char *const place_names[PLACES] = { "same", "disjoint" };

enum { ALONE, TWO_PROCESSES, FOUR_PROCESSES, TWO_THREADS, FOUR_THREADS, CROWDS };
static const struct crowd {
        int processes, threads; /* threads of each process */
        const char *name;
} crowds[CROWDS] = {
        [ALONE] = { 1, 1, "1" },
        [TWO_PROCESSES] = { 2, 1, "2 processes" },
        [FOUR_PROCESSES] = { 4, 1, "4 processes" },
        [TWO_THREADS] = { 1, 2, "2 threads" },
        [FOUR_THREADS] = { 1, 4, "4 threads" },
};

enum {
        DECLARED,
        DECLARED_SEPARATE,
        VIEW,
        VIEW_SEPARATE,
#ifdef HAVE_LMDB
        LMDB,
#endif
        MUTEX,
        UNLOCKED,
        SYSTEMS
};
static const struct system *const systems[SYSTEMS] = {
        [DECLARED] = &system_declared, [DECLARED_SEPARATE] = &system_declared_separate,
        [VIEW] = &system_view,         [VIEW_SEPARATE] = &system_view_separate,
#ifdef HAVE_LMDB
        [LMDB] = &system_lmdb,
#endif
        [MUTEX] = &system_mutex,       [UNLOCKED] = &system_unlocked,
};

enum { THROUGHPUT, ABORTS, FAIRNESS, METRICS };
static const struct metric {
        const char *name, *unit;
} metrics[METRICS] = {
        [THROUGHPUT] = { "throughput", "transactions_per_second" },
        [ABORTS] = { "aborts", "aborts_per_commit" },
        [FAIRNESS] = { "fairness", "slowest_over_fastest" },
};

enum { CELLS = TESTS * PLACES * CROWDS * SYSTEMS };

struct cell {
        const struct test *test;
        const struct system *system;
        const struct crowd *crowd;
        int place;
        bool is_wanted;
        struct samples samples[METRICS];
};

struct experiment {
        uint64_t milliseconds, warm_up, repetitions, stride;
        bool is_retried_at_once, is_unpinned;
        const char *only;
        struct cell cells[CELLS];
};

/* In the order in which they are run: what is compared stands side by side. */
static struct cell *cell_at(struct experiment *experiment, int test, int place, int crowd, int system)
{
        return &experiment->cells[((test * PLACES + place) * CROWDS + crowd) * SYSTEMS + system];
}

static void name_cell(const struct cell *cell, char *name, size_t room)
{
        snprintf(name, room, "%c/%s/%s/%s", cell->test->name, place_names[cell->place], cell->system->name,
                 cell->crowd->name);
}

static bool is_declared(const struct system *system)
{
        return system == &system_declared || system == &system_declared_separate;
}

/* Where nothing is shared there is no same page; and one alone has no others' pages. Several pages only
 * declared access has, and each worker its own. */
static bool makes_sense(const struct cell *cell)
{
        bool is_alone = cell->crowd->processes * cell->crowd->threads == 1;
        if (cell->test->work.pages > 1 && (!is_declared(cell->system) || (cell->place == SAME && !is_alone)))
                return false;
        if (cell->system->is_separate)
                return cell->place == DISJOINT;
        return !is_alone || cell->place == SAME;
}

/* Is one of these texts, which commas separate, part of the name? */
static bool is_named(const char *name, const char *texts)
{
        for (;;) {
                char text[80];
                size_t length = strcspn(texts, ",");
                snprintf(text, sizeof(text), "%.*s", (int)length, texts);
                if (strstr(name, text))
                        return true;
                if (!texts[length])
                        return false;
                texts += length + 1;
        }
}

static void plan_cells(struct experiment *experiment)
{
        int wanted = 0;
        for (int i = 0; i < CELLS; i++) {
                struct cell *cell = &experiment->cells[i];
                char name[80];
                cell->system = systems[i % SYSTEMS];
                cell->crowd = &crowds[i / SYSTEMS % CROWDS];
                cell->place = i / SYSTEMS / CROWDS % PLACES;
                cell->test = &tests[i / SYSTEMS / CROWDS / PLACES];
                name_cell(cell, name, sizeof(name));
                cell->is_wanted = makes_sense(cell) && is_named(name, experiment->only);
                wanted += cell->is_wanted;
        }
        if (!wanted) {
                fprintf(stderr, "no cell is named like \"%s\"\n", experiment->only);
                exit(2);
        }
}

static void run_cell(const struct experiment *experiment, struct cell *cell)
{
        struct crew_plan plan = {
                .system = cell->system,
                .task = { .work = cell->test->work,
                          .is_same_page = cell->place == SAME,
                          .is_retried_at_once = experiment->is_retried_at_once,
                          .stride = experiment->stride },
                .processes = cell->crowd->processes,
                .threads = cell->crowd->threads,
                .warm_up_ns = experiment->warm_up * 1000000,
                .run_ns = experiment->milliseconds * 1000000,
                .is_pinned = !experiment->is_unpinned,
        };
        struct crew_outcome outcome;

        crew_run(&plan, &outcome);
        samples_add(&cell->samples[THROUGHPUT], outcome.per_second);
        samples_add(&cell->samples[ABORTS], outcome.aborts_per_commit);
        samples_add(&cell->samples[FAIRNESS], outcome.fairness);
}

static void show_progress(const struct experiment *experiment, uint64_t repetition, const struct cell *cell)
{
        char name[80];
        if (!isatty(STDERR_FILENO))
                return;
        name_cell(cell, name, sizeof(name));
        fprintf(stderr, "\r\033[Krepetition %d of %d: %s", (int)repetition + 1, (int)experiment->repetitions, name);
}

static void measure(struct experiment *experiment)
{
        for (uint64_t r = 0; r < experiment->repetitions; r++) {
                for (int i = 0; i < CELLS; i++) {
                        struct cell *cell = &experiment->cells[i];
                        if (!cell->is_wanted)
                                continue;
                        show_progress(experiment, r, cell);
                        run_cell(experiment, cell);
                }
                fprintf(stderr, "%srepetition %d of %d is done\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", (int)r + 1,
                        (int)experiment->repetitions);
        }
}

/* How many times as fast. */
static double ratio(const struct cell *cell, const struct cell *base)
{
        return samples_ratio(&cell->samples[THROUGHPUT], &base->samples[THROUGHPUT]);
}

/* One worker alone: by itself it is always on the same page. */
static const struct cell *alone(struct experiment *experiment, int test, int system)
{
        return cell_at(experiment, test, systems[system]->is_separate ? DISJOINT : SAME, ALONE, system);
}

static void print_header(const struct test *test, int place)
{
        printf("\nTest %c (%s), %s: transactions per second, all workers together (times one alone)\n\n", test->name,
               test->what, place == SAME ? "all the same page" : "each worker on its own");
        printf("%-18s", "system");
        for (int c = 0; c < CROWDS; c++)
                printf(" %*s", c ? 16 : 10, crowds[c].name);
        printf("   aborts 2p 4p    fairness 2p 4p\n");
}

static void print_row(struct experiment *experiment, int test, int place, int system)
{
        const struct cell *base = alone(experiment, test, system);

        printf("%-18s %10.0f", systems[system]->name, samples_median(&base->samples[THROUGHPUT]));
        for (int c = 1; c < CROWDS; c++) {
                const struct cell *cell = cell_at(experiment, test, place, c, system);
                printf(" %10.0f %4.2fx", samples_median(&cell->samples[THROUGHPUT]), ratio(cell, base));
        }
        const struct cell *two = cell_at(experiment, test, place, TWO_PROCESSES, system);
        const struct cell *four = cell_at(experiment, test, place, FOUR_PROCESSES, system);
        for (int metric = ABORTS; metric < METRICS; metric++)
                printf("  %6.2f %6.2f", samples_median(&two->samples[metric]), samples_median(&four->samples[metric]));
        printf("\n");
}

/* One line for each system of which anything was measured. */
static void print_table(struct experiment *experiment, int test, int place)
{
        bool has_header = false;

        for (int system = 0; system < SYSTEMS; system++) {
                size_t measured = 0;
                for (int c = ALONE; c < CROWDS; c++)
                        measured += cell_at(experiment, test, place, c, system)->samples[THROUGHPUT].count;
                if (!measured)
                        continue;
                if (!has_header)
                        print_header(&tests[test], place);
                has_header = true;
                print_row(experiment, test, place, system);
        }
}

static void print_tables(struct experiment *experiment)
{
        for (int test = 0; test < TESTS; test++)
                for (int place = tests[test].work.pages > 1 ? DISJOINT : SAME; place < PLACES; place++)
                        print_table(experiment, test, place);
        printf("\n");
}

/* What is compared with what; nothing that was left out counts. */
static int judge(const char *what, const struct cell *cell, const struct cell *base, double least)
{
        double found = ratio(cell, base);
        return found > 0 ? scratch_verdict_least(what, found, least, "times") : 0;
}

static void print_limit(const char *what, const struct cell *cell, const struct cell *base)
{
        double found = ratio(cell, base);
        if (found > 0)
                printf("  %-56s %10.2f times\n", what, found);
}

static int print_verdicts(struct experiment *experiment)
{
        const int two = TWO_PROCESSES;
        struct experiment *e = experiment;
        struct cell *declared_a = cell_at(e, A, DISJOINT, two, DECLARED);
        struct cell *declared_b = cell_at(e, B, DISJOINT, two, DECLARED);
        struct cell *declared_d = cell_at(e, D, DISJOINT, two, DECLARED);
        int missed = 0;
        missed += judge("A, declared, 2 processes, own pages, to separate", declared_a,
                        cell_at(e, A, DISJOINT, two, DECLARED_SEPARATE), 0.6);
        missed += judge("B, declared, 2 processes, own pages, to separate", declared_b,
                        cell_at(e, B, DISJOINT, two, DECLARED_SEPARATE), 0.6);
        missed += judge("D, declared, 2 processes, own pages, to separate", declared_d,
                        cell_at(e, D, DISJOINT, two, DECLARED_SEPARATE), 0.6);
        missed += judge("A, views, 2 processes, the same page, to one alone", cell_at(e, A, SAME, two, VIEW),
                        alone(e, A, VIEW), 0.5);
        missed += judge("C, views, 2 processes, own pages, to one alone", cell_at(e, C, DISJOINT, two, VIEW),
                        alone(e, C, VIEW), 1.8);
        print_limit("C without a library, which is what the processors allow", cell_at(e, C, DISJOINT, two, UNLOCKED),
                    alone(e, C, UNLOCKED));
        return missed;
}

static void write_csv(const struct experiment *experiment, const char *path)
{
        struct csv csv;

        csv_open(&csv, path, "concurrency");
        for (int i = 0; i < CELLS; i++) {
                const struct cell *cell = &experiment->cells[i];
                for (int metric = 0; metric < METRICS; metric++) {
                        char name[80];
                        snprintf(name, sizeof(name), "%c_%s_%s", cell->test->name, place_names[cell->place],
                                 metrics[metric].name);
                        struct csv_series series = { cell->system->name,
                                                     cell->crowd->processes,
                                                     cell->crowd->threads,
                                                     cell->test->work.ints * cell->test->work.repeats,
                                                     name,
                                                     metrics[metric].unit };
                        csv_rows(&csv, &series, &cell->samples[metric]);
                }
        }
        csv_close(&csv);
}

int main(int argc, char **argv)
{
        static struct experiment experiment = {
                .milliseconds = 100, .warm_up = 20, .repetitions = 5, .stride = 1, .only = ""
        };
        const char *csv_path = "concurrency.csv";
        bool check = false;
        const struct option_spec options[] = {
                OPTION_NUMBER("milliseconds", experiment.milliseconds, "of a cell, in one repetition"),
                OPTION_NUMBER("warm-up", experiment.warm_up, "milliseconds before it is measured"),
                OPTION_NUMBER("repetitions", experiment.repetitions, "how often each cell is run"),
                OPTION_NUMBER("stride", experiment.stride, "from a worker's own pages to the next one's"),
                OPTION_FLAG("loop", experiment.is_retried_at_once, "retry by a loop, not by xac_run"),
                OPTION_FLAG("unpinned", experiment.is_unpinned, "workers run where the kernel puts them"),
                OPTION_TEXT("only", experiment.only, "cells named so: A/same/lmdb/2 processes,A/same/lmdb/1"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_FLAG("check", check, "exit status 1 if workers hinder each other too much"),
                OPTION_END,
        };
        options_parse(argc, argv, "Tests A, B and C of the thesis, and one more, by several workers.", options);

        plan_cells(&experiment);
        measure(&experiment);
        print_tables(&experiment);
        int missed = print_verdicts(&experiment);
        write_csv(&experiment, csv_path);
        return check && missed ? EXIT_FAILURE : EXIT_SUCCESS;
}
