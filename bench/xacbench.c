/* SPDX-License-Identifier: MIT */

/*
 * The search structures' race: experiments on systems that keep records, mostly in the order of their keys, each by
 * several crowds of workers.
 *
 *         bench/xacbench insert --systems bptree,lmdb,bdb --processes 1,2
 *
 * A repetition runs every system once, one after the other (A B A B ...), in a new directory, before the next
 * repetition begins; figures are medians over the repetitions. Latencies are taken in further repetitions, as
 * reading the clock twice would be a part of what an insert takes; but for what is so slow that it is none.
 * After each run the store must hold what it should (xacbench_check.c).
 */

#include "bench/xacbench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/support/csv.h"
#include "bench/support/little_memory.h"
#include "bench/support/options.h"
#include "bench/xacbench_report.h"

enum { EXPERIMENTS_MAX = 32, BAR = 30 };

static const char PURPOSE[] = "The race of search structures. The first argument names experiments, "
                              "separated by commas, or is \"all\":\n"
                              "insert, insert-nosync, durable-insert, batch-insert, lookup, lookup-one, "
                              "scan, range, mixed, delete, load, ycsb-load, ycsb-a to ycsb-f.";

static struct bench {
        struct plan plan; /* what all runs have in common */
        uint64_t keys, durable_keys, preload, key_bytes, value_bytes, page_bytes, batch, repetitions, timed_repetitions,
                memory_mib;
        struct little_memory memory;
        struct option_numbers processes, threads, reads;
        bool is_durable;
        int systems;
        const struct store *stores[REPORT_SYSTEMS_MAX];
        struct csv csv;
        int experiment_count;
        const struct experiment *experiments[EXPERIMENTS_MAX];
} bench = { .key_bytes = 8, .value_bytes = 8, .batch = 1000, .repetitions = 5, .timed_repetitions = 3 };

/* ---- the command line ---- */

static void take_system(const char *part, void *arg)
{
        const struct store *store = store_find(part);
        (void)arg;

        if (!store)
                options_refuse("no such system, or not compiled in", part);
        if (bench.systems == REPORT_SYSTEMS_MAX)
                options_refuse("too many systems", part);
        bench.stores[bench.systems++] = store;
}

static void take_experiment(const char *part, void *arg)
{
        (void)arg;
        if (strcmp(part, "all") == 0) {
                for (int i = 0; experiment_at(i); i++)
                        take_experiment(experiment_at(i)->name, NULL);
                return;
        }
        const struct experiment *experiment = experiment_find(part);
        if (!experiment || bench.experiment_count == EXPERIMENTS_MAX)
                options_refuse("no such experiment", part);
        bench.experiments[bench.experiment_count++] = experiment;
}

static enum order_distribution distribution_of(const char *name)
{
        if (strcmp(name, "uniform") == 0)
                return ORDER_UNIFORM;
        if (strcmp(name, "zipf") == 0)
                return ORDER_ZIPF;
        if (strcmp(name, "ascending") == 0)
                return ORDER_ASCENDING;
        options_refuse("no such distribution", name);
}

static void check_numbers(void)
{
        const char *fault = record_shape_fault(&bench.plan.shape);
        const struct option_numbers *processes = &bench.processes, *threads = &bench.threads;

        if (fault)
                options_refuse(fault, "--key-size, --value-size");
        if (bench.keys > ORDER_RECORDS_MAX / 2 || bench.durable_keys > ORDER_RECORDS_MAX / 2 ||
            bench.preload > ORDER_RECORDS_MAX / 2)
                options_refuse("too many records", "--keys, --preload");
        if (!bench.repetitions || !bench.batch)
                options_refuse("at least 1", "--reps, --batch");
        for (int i = 0; i < processes->count * threads->count; i++)
                if (processes->value[i / threads->count] * threads->value[i % threads->count] > WORKERS_MAX)
                        options_refuse("more than 64 workers", "--processes, --threads");
        if (processes->count * threads->count > REPORT_CROWDS_MAX)
                options_refuse("too many crowds", "--processes, --threads");
}

static void remove_group(void)
{
        little_memory_remove(&bench.memory);
}

/* The group goes when the program ends; its children end by _exit(). */
static void limit_memory(void)
{
        if (!bench.memory_mib)
                return;
        bench.plan.memory_bytes = bench.memory_mib << 20;
        if (!little_memory_make(&bench.memory, bench.plan.memory_bytes))
                options_refuse("no control group of memory can be made here", "--memory-mib");
        bench.plan.memory = &bench.memory;
        if (atexit(remove_group) != 0)
                remove_group();
}

static const char *default_systems(void)
{
        static const char *const others[] = { "lmdb", "bdb", "rocksdb", "sqlite" };
        static char names[64] = "bptree,cobtree";

        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
                if (store_find(others[i])) {
                        strcat(names, ",");
                        strcat(names, others[i]);
                }
        return names;
}

static void parse(int argc, char **argv)
{
        const char *experiments = "all", *systems = default_systems(), *processes = "1,2", *threads = "1";
        const char *reads = "50,95", *distribution = "uniform", *csv_path = "xacbench.csv", *directory = NULL;
        const struct option_spec options[] = {
                OPTION_TEXT("systems", systems, store_names()),
                OPTION_TEXT("processes", processes, "numbers of processes"),
                OPTION_TEXT("threads", threads, "numbers of threads in each of them"),
                OPTION_NUMBER("keys", bench.keys, "records put or chosen; 0: 1,000,000, durable 250,000"),
                OPTION_NUMBER("durable-keys", bench.durable_keys, "the same for durable-insert; 0: as --keys"),
                OPTION_NUMBER("preload", bench.preload, "records there before; 0: none, or as many as --keys"),
                OPTION_NUMBER("key-size", bench.key_bytes, "bytes of a key: 8, or 16 to 500"),
                OPTION_NUMBER("value-size", bench.value_bytes, "bytes of a value: 8 to 1900"),
                OPTION_TEXT("dist", distribution, "of keys: uniform, zipf or ascending"),
                OPTION_FLAG("durable", bench.is_durable, "whatever is committed is on disk, in all experiments"),
                OPTION_FLAG("static", bench.plan.is_static, "what is there before was loaded in order, not put"),
                OPTION_TEXT("reads", reads, "percentages of lookups in mixed"),
                OPTION_NUMBER("batch", bench.batch, "inserts in a transaction of batch-insert"),
                OPTION_NUMBER("page-size", bench.page_bytes, "of the trees and bdb; 0: what suits each"),
                OPTION_NUMBER("memory-mib", bench.memory_mib,
                              "memory of a system's processes, page cache included; 0: all"),
                OPTION_FLAG("cold", bench.plan.is_cold, "what is there before is on disk only, not in memory"),
                OPTION_NUMBER("reps", bench.repetitions, "how often each run is repeated"),
                OPTION_NUMBER("latency-reps", bench.timed_repetitions, "further repetitions with latencies"),
                OPTION_TEXT("directory", directory, "where the stores lie, instead of $TMPDIR"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_TEXT("profile", bench.plan.profile, "what worker 0's profiles begin with (see make profile)"),
                OPTION_END,
        };

        if (argc > 1 && argv[1][0] != '-') {
                experiments = argv[1];
                argv[1] = argv[0];
                argc--;
                argv++;
        }
        options_parse(argc, argv, PURPOSE, options);
        options_words(experiments, take_experiment, NULL);
        options_words(systems, take_system, NULL);
        options_numbers(processes, 1, WORKERS_MAX, &bench.processes);
        options_numbers(threads, 1, WORKERS_MAX, &bench.threads);
        options_numbers(reads, 0, 100, &bench.reads);
        bench.plan.distribution = distribution_of(distribution);
        bench.plan.shape = (struct record_shape){ bench.key_bytes, bench.value_bytes,
                                                  bench.plan.distribution == ORDER_ASCENDING, false };
        bench.plan.batch = (unsigned)bench.batch;
        bench.plan.page_bytes = bench.page_bytes;
        check_numbers();
        limit_memory();
        if (directory && setenv("TMPDIR", directory, 1) != 0)
                scratch_fail(-errno, directory);
        csv_open(&bench.csv, csv_path, "xacbench");
}

/* ---- running ---- */

/* How far it is: a bar on a terminal, else a line for each repetition. */
static void show_progress(const struct report *report, uint64_t repetition, int done, const char *what)
{
        const int all = report->crowds * report->systems, filled = BAR * done / all;

        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K[%.*s%.*s] %s: repetition %" PRIu64 " of %" PRIu64 " %s", filled,
                        "##############################", BAR - filled, "..............................",
                        report->experiment->name, repetition + 1, report->repetitions, what);
        else if (done == all)
                fprintf(stderr, "%s: repetition %" PRIu64 " of %" PRIu64 " is done\n", report->experiment->name,
                        repetition + 1, report->repetitions);
}

/* Plain memory is the measure of what transactions cost; it promises nothing. */
static bool makes_sense(const struct plan *plan)
{
        const char *only = plan->store->only;
        const bool is_one_worker = plan->processes * plan->threads == 1, is_private = !plan->store->data_file;

        if (is_private && plan->promise != STORE_MEMORY)
                return false;
        if (only && strcmp(only, plan->experiment->name) != 0)
                return false;
        if (plan->store->is_unordered && plan->experiment->is_ordered)
                return false;
        return is_one_worker || (!plan->experiment->is_alone && !is_private);
}

static void run_cell(struct report_cell *cell, const struct plan *plan, struct place *place)
{
        struct outcome outcome;

        crew_run(plan, place, &outcome);
        report_add(cell, plan, &outcome);
}

/* So many workers: a store of one process has them all as threads of that. */
static void set_crowd(struct plan *plan, int processes, int threads)
{
        plan->processes = plan->store->is_of_one_process ? 1 : processes;
        plan->threads = plan->store->is_of_one_process ? processes * threads : threads;
}

/* Every system by every crowd. */
static void repeat(struct report *report, struct plan *plan, struct place *places, uint64_t repetition)
{
        int done = 0;

        for (int c = 0; c < report->crowds; c++) {
                for (int s = 0; s < report->systems; s++) {
                        plan->store = report->stores[s];
                        set_crowd(plan, (int)bench.processes.value[c / bench.threads.count],
                                  (int)bench.threads.value[c % bench.threads.count]);
                        show_progress(report, repetition, done++, plan->store->name);
                        if (makes_sense(plan))
                                run_cell(&report->cells[c][s], plan, &places[s]);
                }
        }
        show_progress(report, repetition, done, "");
}

static void race(struct plan plan)
{
        static struct report report;
        struct place places[REPORT_SYSTEMS_MAX] = { 0 };
        const bool has_both = plan.experiment->is_slow;
        const bool has_timed = plan.experiment->has_latencies && !has_both;

        report = (struct report){ .experiment = plan.experiment,
                                  .systems = bench.systems,
                                  .has_little_memory = plan.memory != NULL,
                                  .repetitions = bench.repetitions + (has_timed ? bench.timed_repetitions : 0),
                                  .crowds = bench.processes.count * bench.threads.count };
        memcpy(report.stores, bench.stores, sizeof(bench.stores));
        report_param(&plan, report.param);
        for (uint64_t r = 0; r < report.repetitions; r++) {
                plan.is_timed = has_both || r >= bench.repetitions;
                repeat(&report, &plan, places, r);
        }
        for (int s = 0; s < report.systems; s++)
                place_remove(&places[s]);
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K");
        report_print(&report);
        report_write(&report, &bench.csv);
        report_free(&report);
}

static void run_experiment(const struct experiment *experiment)
{
        struct plan plan = bench.plan;

        plan.experiment = experiment;
        plan.promise = bench.is_durable ? STORE_DURABLE : experiment->promise;
        if (experiment->is_zipf)
                plan.distribution = ORDER_ZIPF;
        plan.keys = bench.keys ? bench.keys : experiment->default_keys;
        if (bench.durable_keys && plan.promise == STORE_DURABLE)
                plan.keys = bench.durable_keys;
        plan.preload = bench.preload || !experiment->is_preloaded ? bench.preload : plan.keys;
        if (plan.distribution == ORDER_ZIPF && (experiment->order == ORDER_OWN || experiment->order == ORDER_SORTED)) {
                fprintf(stderr, "%s has no zipf: left out\n", experiment->name);
                return;
        }
        for (int i = 0; i < (experiment->is_mixed ? bench.reads.count : 1); i++) {
                plan.read_percent = (unsigned)bench.reads.value[i];
                race(plan);
        }
}

int main(int argc, char **argv)
{
        parse(argc, argv);
        for (int i = 0; i < bench.experiment_count; i++)
                run_experiment(bench.experiments[i]);
        csv_close(&bench.csv);
        return EXIT_SUCCESS;
}
