/* SPDX-License-Identifier: MIT */

/*
 * Chapter 5 of the thesis: durable inserts of random keys of 128 bytes, each a transaction of its own, into trees
 * of pages of 4 KiB, by one process and by two; beside Berkeley DB as there, and LMDB.
 *
 *      milliseconds per insert                 tables 5.5, 5.6
 *      speed-up of two processes, t1 / t2      the same
 *      time of the k-th most expensive insert  figure 5-3
 *
 * Checkpoints are included as they come. The systems are configured as in bench/xacbench (store_*.c), and run
 * by the same crew.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/xacbench.h"

enum { SYSTEMS_MAX = 8, RANKS_MAX = 32, KEY_BYTES = 128, VALUE_BYTES = 8, PAGE_BYTES = 4096, PARAM = 96 };

struct cell {
        struct samples us_per_op;
        struct samples kth_us[RANKS_MAX];
};

static struct thesis {
        struct plan plan;
        uint64_t inserts, repetitions;
        struct option_numbers processes;
        int systems;
        const struct store *stores[SYSTEMS_MAX];
        int ranks;
        uint64_t rank[RANKS_MAX]; /* 1, 2, 5, 10, 20, 50 ... */
        struct cell cells[OPTION_LIST_MAX][SYSTEMS_MAX];
} thesis = { .inserts = 250000, .repetitions = 3 };

/* ---- the command line ---- */

static void take_system(const char *word, void *arg)
{
        const struct store *store = store_find(word);
        (void)arg;

        if (!store || !store->data_file || thesis.systems == SYSTEMS_MAX)
                options_refuse("no such system, or not compiled in", word);
        thesis.stores[thesis.systems++] = store;
}

static const char *default_systems(void)
{
        static char names[64];
        snprintf(names, sizeof(names), "bptree-view,bptree%s%s", store_find("bdb") ? ",bdb" : "",
                 store_find("lmdb") ? ",lmdb" : "");
        return names;
}

/* Returns where the CSV file goes. */
static const char *parse(int argc, char **argv)
{
        const char *systems = default_systems(), *processes = "1,2", *directory = NULL,
                   *csv_path = "thesis.csv";
        const struct option_spec options[] = {
                OPTION_NUMBER("inserts", thesis.inserts, "by all processes together"),
                OPTION_TEXT("systems", systems, store_names()),
                OPTION_TEXT("processes", processes, "numbers of processes"),
                OPTION_NUMBER("reps", thesis.repetitions, "how often each is run"),
                OPTION_TEXT("directory", directory, "where the trees lie, instead of $TMPDIR"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        options_parse(argc, argv, "Durable inserts by the search trees, as the thesis measured them.",
                      options);
        options_words(systems, take_system, NULL);
        options_numbers(processes, 1, WORKERS_MAX, &thesis.processes);
        if (!thesis.inserts || thesis.inserts > ORDER_RECORDS_MAX || !thesis.repetitions)
                options_refuse("too few, or too many", "--inserts, --reps");
        if (directory && setenv("TMPDIR", directory, 1) != 0)
                scratch_fail(-errno, directory);
        return csv_path;
}

/* ---- measuring ---- */

static void plan_runs(void)
{
        const uint64_t steps[] = { 1, 2, 5 };
        uint64_t decade = 1;

        for (int i = 0; i < RANKS_MAX && steps[i % 3] * decade <= thesis.inserts; i++) {
                thesis.rank[thesis.ranks++] = steps[i % 3] * decade;
                decade *= i % 3 == 2 ? 10 : 1;
        }
        thesis.plan = (struct plan){
                .experiment = experiment_find("durable-insert"),
                .threads = 1,
                .keys = thesis.inserts,
                .shape = { .key_bytes = KEY_BYTES, .value_bytes = VALUE_BYTES, .is_random = true },
                .page_bytes = PAGE_BYTES,
                .is_timed = true,
        };
        thesis.plan.trace_ns = mmap(NULL, thesis.inserts * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (thesis.plan.trace_ns == MAP_FAILED)
                scratch_fail(-errno, "mmap");
}

static int descending(const void *a, const void *b)
{
        const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
        return (left < right) - (left > right);
}

static void run_cell(struct cell *cell)
{
        uint32_t *trace_ns = thesis.plan.trace_ns;
        struct outcome outcome;
        struct place place = { .is_made = false };

        crew_run(&thesis.plan, &place, &outcome);
        samples_add(&cell->us_per_op, outcome.seconds * 1e6 / (double)outcome.operations);
        qsort(trace_ns, thesis.inserts, sizeof(*trace_ns), descending);
        for (int i = 0; i < thesis.ranks; i++)
                samples_add(&cell->kth_us[i], trace_ns[thesis.rank[i] - 1] / 1000.0);
}

static void measure(void)
{
        for (uint64_t r = 0; r < thesis.repetitions; r++)
                for (int p = 0; p < thesis.processes.count; p++)
                        for (int s = 0; s < thesis.systems; s++) {
                                thesis.plan.processes = (int)thesis.processes.value[p];
                                thesis.plan.store = thesis.stores[s];
                                fprintf(stderr, "%srepetition %" PRIu64 " of %" PRIu64 ": %s, %d processes%s",
                                        isatty(STDERR_FILENO) ? "\r\033[K" : "", r + 1, thesis.repetitions,
                                        thesis.stores[s]->name, thesis.plan.processes,
                                        isatty(STDERR_FILENO) ? "" : "\n");
                                run_cell(&thesis.cells[p][s]);
                        }
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K");
}

/* ---- results ---- */

/* The median of the ratios within each repetition. */
static double ratio(const struct cell *above, const struct cell *below)
{
        struct samples ratios = { 0 };

        for (size_t i = 0; i < above->us_per_op.count; i++)
                samples_add(&ratios, above->us_per_op.value[i] / below->us_per_op.value[i]);
        double median = samples_median(&ratios);
        samples_free(&ratios);
        return median;
}

static int find_system(const char *name)
{
        for (int s = 0; s < thesis.systems; s++)
                if (strcmp(thesis.stores[s]->name, name) == 0)
                        return s;
        return -1;
}

static int find_alone(void)
{
        for (int p = 0; p < thesis.processes.count; p++)
                if (thesis.processes.value[p] == 1)
                        return p;
        return -1;
}

static void print_times(void)
{
        const int alone = find_alone(), bdb = find_system("bdb");

        printf("\n%" PRIu64
               " durable inserts of random keys of %d bytes, pages of %d bytes; medians of %" PRIu64
               " repetitions\n\n%-14s %5s  %-28s %10s %14s\n",
               thesis.inserts, KEY_BYTES, PAGE_BYTES, thesis.repetitions, "system", "proc",
               "ms per insert (min to max)", "t1/t here", "x Berkeley DB");
        for (int p = 0; p < thesis.processes.count; p++)
                for (int s = 0; s < thesis.systems; s++) {
                        const struct cell *cell = &thesis.cells[p][s];
                        char spread[64];
                        snprintf(spread, sizeof(spread), "%.4f (%.4f to %.4f)",
                                 samples_median(&cell->us_per_op) / 1000,
                                 samples_min(&cell->us_per_op) / 1000, samples_max(&cell->us_per_op) / 1000);
                        printf("%-14s %5d  %-28s", thesis.stores[s]->name, (int)thesis.processes.value[p],
                               spread);
                        printf(" %10.2f", alone < 0 ? 0 : ratio(&thesis.cells[alone][s], cell));
                        printf(" %14.2f\n", bdb < 0 ? 0 : ratio(&thesis.cells[p][bdb], cell));
                }
        printf("\nThe thesis: 0.96 to 1.67 times as fast as Berkeley DB with one process (4 %% slower to 67 "
               "%% faster).\n");
}

static void print_ranks(void)
{
        printf("\nThe k-th most expensive insert, milliseconds\n\n%-14s %5s", "system", "proc");
        for (int i = 0; i < thesis.ranks; i += 3)
                printf(" %9" PRIu64, thesis.rank[i]);
        printf("\n");
        for (int p = 0; p < thesis.processes.count; p++)
                for (int s = 0; s < thesis.systems; s++) {
                        printf("%-14s %5d", thesis.stores[s]->name, (int)thesis.processes.value[p]);
                        for (int i = 0; i < thesis.ranks; i += 3)
                                printf(" %9.3f", samples_median(&thesis.cells[p][s].kth_us[i]) / 1000);
                        printf("\n");
                }
        printf("\n");
}

static void write_rows(struct csv *csv, struct csv_series *series, const char *metric, const char *unit,
                       const char *param, const struct samples *samples)
{
        series->metric = metric;
        series->unit = unit;
        for (size_t i = 0; i < samples->count; i++)
                csv_text_row(csv, series, param, samples->value[i]);
}

static void write_cell(struct csv *csv, int p, int s)
{
        const struct cell *cell = &thesis.cells[p][s];
        struct csv_series series = { .system = thesis.stores[s]->name,
                                     .threads = 1,
                                     .processes = (int)thesis.processes.value[p] };
        char param[PARAM], ranked[PARAM + 32];

        snprintf(param, sizeof(param), "keys=%" PRIu64 ";key=%d;value=%d;dist=uniform", thesis.inserts,
                 KEY_BYTES, VALUE_BYTES);
        write_rows(csv, &series, "us_per_op", "us", param, &cell->us_per_op);
        for (int i = 0; i < thesis.ranks; i++) {
                snprintf(ranked, sizeof(ranked), "%s;k=%" PRIu64, param, thesis.rank[i]);
                write_rows(csv, &series, "kth_us", "us", ranked, &cell->kth_us[i]);
        }
}

/* t1 / t2 in each repetition. */
static void write_speedups(struct csv *csv, int p, int s)
{
        const int alone = find_alone();
        struct csv_series series = { .system = thesis.stores[s]->name,
                                     .processes = (int)thesis.processes.value[p],
                                     .threads = 1,
                                     .metric = "speedup",
                                     .unit = "t1_over_t" };
        char param[PARAM];

        snprintf(param, sizeof(param), "keys=%" PRIu64 ";key=%d;value=%d;dist=uniform", thesis.inserts,
                 KEY_BYTES, VALUE_BYTES);
        for (size_t i = 0; alone >= 0 && i < thesis.cells[p][s].us_per_op.count; i++)
                csv_text_row(csv, &series, param,
                             thesis.cells[alone][s].us_per_op.value[i] /
                                     thesis.cells[p][s].us_per_op.value[i]);
}

int main(int argc, char **argv)
{
        struct csv csv;

        csv_open(&csv, parse(argc, argv), "thesis");
        plan_runs();
        measure();
        print_times();
        print_ranks();
        for (int p = 0; p < thesis.processes.count; p++)
                for (int s = 0; s < thesis.systems; s++) {
                        write_cell(&csv, p, s);
                        write_speedups(&csv, p, s);
                }
        csv_close(&csv);
        return EXIT_SUCCESS;
}
