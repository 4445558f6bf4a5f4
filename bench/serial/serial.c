/* SPDX-License-Identifier: MIT */

/*
 * What isolation costs serial data structures that know nothing of it. The same source of each runs
 *
 *      plain       in ordinary memory; several processes take turns by a mutex
 *      faults      in a view, whose accesses are found by page faults
 *
 * and beside them some written by hand with declared access (declared.h). Keys are random, by a fixed seed, so that one
 * process does the same in each way: what its operations return, and what the structure holds in the end, must be
 * equal.
 *
 * Each cell has new processes and new memory. A repetition runs the ways one after the other (A, B, C, A, B, C), for
 * each structure, number of processes, and number of operations that are a transaction together.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/serial/crew.h"
#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { TEXT = 64, BATCH_MAX = 100000 };

struct cell {
        struct samples us, cpu_us, lost, faults;
};

/* What one process must come to, in whatever way. */
struct expectation {
        bool is_known;
        uint64_t digest;
        struct content content;
};

static struct experiment {
        uint64_t repetitions, operations, seed;
        bool is_way_wanted[WAYS_MAX], is_structure_wanted[STRUCTURES];
        struct option_numbers processes, batches;
        struct cell cells[STRUCTURES][OPTION_LIST_MAX][OPTION_LIST_MAX][WAYS_MAX];
        struct expectation expectations[STRUCTURES];
} experiment = { .repetitions = 5, .operations = 50000, .seed = 1 };

/* ---- the command line ---- */

static void take_structure(const char *word, void *arg)
{
        (void)arg;
        for (int s = 0; s < STRUCTURES; s++)
                if (strcmp(word, structures_plain[s].name) == 0) {
                        experiment.is_structure_wanted[s] = true;
                        return;
                }
        options_refuse("no such structure", word);
}

static void take_way(const char *word, void *arg)
{
        (void)arg;
        for (int w = 0; w < way_count; w++)
                if (strcmp(word, ways[w].name) == 0) {
                        experiment.is_way_wanted[w] = true;
                        return;
                }
        options_refuse("no such way", word);
}

/* "plain,faults,declared": what there is. */
static const char *way_names(void)
{
        static char names[TEXT];
        size_t used = 0;

        for (int w = 0; w < way_count && used < sizeof(names); w++)
                used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", w ? "," : "", ways[w].name);
        return names;
}

static const char *take_options(int argc, char **argv)
{
        static const char *csv_path = "serial.csv";
        const char *structures = "lru-map,rb-tree,open-table,sorted-list", *wanted_ways = way_names();
        const char *processes = "1,2,4", *batches = "1,100";
        const struct option_spec options[] = {
                OPTION_TEXT("structures", structures, "which of them"),
                OPTION_TEXT("ways", wanted_ways, "which of them"),
                OPTION_TEXT("processes", processes, "how many work at once"),
                OPTION_TEXT("batch", batches, "operations of a transaction"),
                OPTION_NUMBER("operations", experiment.operations, "of all processes together, in a repetition"),
                OPTION_NUMBER("reps", experiment.repetitions, "repetitions of every cell"),
                OPTION_NUMBER("seed", experiment.seed, "of the random keys"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        options_parse(argc, argv, "Serial data structures: in plain memory, by faults, by declared access.", options);
        options_words(structures, take_structure, NULL);
        options_words(wanted_ways, take_way, NULL);
        options_numbers(processes, 1, CREW_MAX, &experiment.processes);
        options_numbers(batches, 1, BATCH_MAX, &experiment.batches);
        if (experiment.operations < CREW_MAX)
                options_refuse("there must be one for each process", "--operations");
        return csv_path;
}

static bool is_wanted(int structure, int way)
{
        return experiment.is_structure_wanted[structure] && experiment.is_way_wanted[way] &&
               ways[way].structures[structure];
}

/* ---- measuring ---- */

/* However many operations are a transaction. */
static void expect_equal(const struct crew_plan *plan, const struct crew_outcome *outcome)
{
        struct expectation *expected = &experiment.expectations[plan->structure];

        if (!expected->is_known)
                *expected = (struct expectation){ true, outcome->digest, outcome->content };
        if (expected->digest == outcome->digest && expected->content.count == outcome->content.count &&
            expected->content.digest == outcome->content.digest)
                return;
        fprintf(stderr, "%s, %s: other results than before\n", structures_plain[plan->structure].name, plan->way->name);
        exit(EXIT_FAILURE);
}

static void measure_cell(struct cell *cell, const struct crew_plan *plan)
{
        struct crew_outcome outcome;

        crew_run(plan, &outcome);
        if (plan->processes == 1)
                expect_equal(plan, &outcome);
        samples_add(&cell->us, outcome.us);
        samples_add(&cell->cpu_us, outcome.cpu_us);
        samples_add(&cell->lost, outcome.lost);
        samples_add(&cell->faults, outcome.faults);
}

static void show_progress(uint64_t repetition, const struct crew_plan *plan)
{
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[Krepetition %d of %d: %s, %s, %d processes, transactions of %d",
                        (int)repetition + 1, (int)experiment.repetitions, structures_plain[plan->structure].name,
                        plan->way->name, plan->processes, (int)plan->batch);
}

static void measure_ways(uint64_t repetition, int structure, int p, int b)
{
        for (int w = 0; w < way_count; w++) {
                if (!is_wanted(structure, w))
                        continue;
                const struct crew_plan plan = {
                        .way = &ways[w],
                        .structure = (enum structure_no)structure,
                        .processes = (int)experiment.processes.value[p],
                        .batch = experiment.batches.value[b],
                        .operations = experiment.operations,
                        .seed = experiment.seed,
                };
                show_progress(repetition, &plan);
                measure_cell(&experiment.cells[structure][p][b][w], &plan);
        }
}

static void measure(void)
{
        for (uint64_t r = 0; r < experiment.repetitions; r++)
                for (int s = 0; s < STRUCTURES; s++)
                        for (int p = 0; p < experiment.processes.count; p++)
                                for (int b = 0; b < experiment.batches.count; b++)
                                        measure_ways(r, s, p, b);
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K");
}

/* ---- results ---- */

/* The structure in plain memory, alone: the first of the ways. */
static const struct cell *alone(int structure, int b)
{
        static const struct cell none;

        for (int p = 0; p < experiment.processes.count; p++)
                if (experiment.processes.value[p] == 1)
                        return &experiment.cells[structure][p][b][0];
        return &none;
}

static void print_times(double times)
{
        if (times > 0)
                printf(" %7.1f", times);
        else
                printf(" %7s", "-");
}

static void print_row(int structure, int p, int b, int w)
{
        const struct cell *cell = &experiment.cells[structure][p][b][w], *base = alone(structure, b);

        printf("%-12s %9d %6d  %-9s %8.3f %8.3f %8.3f", structures_plain[structure].name,
               (int)experiment.processes.value[p], (int)experiment.batches.value[b], ways[w].name,
               samples_median(&cell->us), samples_min(&cell->us), samples_max(&cell->us));
        print_times(samples_ratio(&cell->us, &base->us));
        printf(" %8.3f", samples_median(&cell->cpu_us));
        print_times(samples_ratio(&cell->cpu_us, &base->cpu_us));
        printf(" %7.2f %6.2f\n", samples_median(&cell->faults), samples_median(&cell->lost));
}

static void print_table(int structure)
{
        for (int p = 0; p < experiment.processes.count; p++)
                for (int b = 0; b < experiment.batches.count; b++)
                        for (int w = 0; w < way_count; w++)
                                if (is_wanted(structure, w))
                                        print_row(structure, p, b, w);
}

static void print_tables(void)
{
        printf("us, least, most: wall time for each operation, all processes together; cpu: of processors. Medians; "
               "times\n"
               "plain memory alone (of the ratios within a repetition). Page faults in views for each operation, "
               "attempts\n"
               "lost for each transaction.\n\n");
        printf("%-12s %9s %6s  %-9s %8s %8s %8s %7s %8s %7s %7s %6s\n", "structure", "processes", "batch", "way", "us",
               "least", "most", "times", "cpu us", "times", "faults", "lost");
        for (int s = 0; s < STRUCTURES; s++)
                print_table(s);
        printf("\n");
}

static void write_rows(struct csv *csv, int structure, int p, int b, int w)
{
        const struct cell *cell = &experiment.cells[structure][p][b][w];
        const struct {
                const char *metric, *unit;
                const struct samples *samples;
        } columns[] = { { "us_per_op", "us", &cell->us },
                        { "cpu_us_per_op", "us", &cell->cpu_us },
                        { "faults_per_op", "faults", &cell->faults },
                        { "lost_per_transaction", "attempts", &cell->lost } };
        char param[TEXT];

        snprintf(param, sizeof(param), "structure=%s;batch=%" PRIu64, structures_plain[structure].name,
                 experiment.batches.value[b]);
        for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
                const struct csv_series series = {
                        ways[w].name, (int)experiment.processes.value[p], 1, 0, columns[c].metric, columns[c].unit
                };
                for (size_t i = 0; i < columns[c].samples->count; i++)
                        csv_text_row(csv, &series, param, columns[c].samples->value[i]);
        }
}

static void write_csv(const char *path)
{
        struct csv csv;

        csv_open(&csv, path, "serial");
        for (int s = 0; s < STRUCTURES; s++)
                for (int p = 0; p < experiment.processes.count; p++)
                        for (int b = 0; b < experiment.batches.count; b++)
                                for (int w = 0; w < way_count; w++)
                                        write_rows(&csv, s, p, b, w);
        csv_close(&csv);
}

int main(int argc, char **argv)
{
        const char *csv_path = take_options(argc, argv);

        measure();
        print_tables();
        write_csv(csv_path);
        return EXIT_SUCCESS;
}
