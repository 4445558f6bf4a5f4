/* SPDX-License-Identifier: MIT */

/*
 * Chapter 5 of the thesis: search trees with keys of 128 bytes in pages of 4 KiB, beside Berkeley DB as there, and
 * LMDB.
 *
 *         bench/papers/libxac-2005/thesis inserts,searches --systems bptree,cobtree
 *
 * The systems are configured as in bench/xacbench (store_*.c), and run by the same crew.
 */

#include "bench/papers/libxac-2005/thesis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXPERIMENTS_MAX = 16 };

static const struct experiment_of_thesis {
        const char *name;
        void (*run)(struct thesis *thesis);
} experiments[] = {
        { "inserts", thesis_inserts },
        { "searches", thesis_searches },
        { "random", thesis_random },
        { "sorted", thesis_sorted },
};

enum { EXPERIMENTS = sizeof(experiments) / sizeof(experiments[0]) };

static const char PURPOSE[] =
        "The search trees, as the thesis measured them. The first argument names experiments, separated by "
        "commas, or is \"all\":\n"
        "inserts   durable inserts of random keys (tables 5.5, 5.6, figure 5-3)\n"
        "searches  random searches in loaded trees that are larger than memory (table 5.1)\n"
        "random    inserts of random keys, then a range query over everything (table 5.2)\n"
        "sorted    inserts in ascending order (table 5.3)";

static struct {
        int count;
        const struct experiment_of_thesis *experiments[EXPERIMENTS_MAX];
} chosen;

/* ---- the command line ---- */

static void take_experiment(const char *word, void *arg)
{
        const bool is_all = strcmp(word, "all") == 0;
        bool is_known = is_all;
        (void)arg;

        for (int i = 0; i < EXPERIMENTS; i++) {
                if (!is_all && strcmp(word, experiments[i].name) != 0)
                        continue;
                is_known = true;
                if (chosen.count == EXPERIMENTS_MAX)
                        options_refuse("too many experiments", word);
                chosen.experiments[chosen.count++] = &experiments[i];
        }
        if (!is_known)
                options_refuse("no such experiment", word);
}

static void check_system(const char *word, void *arg)
{
        const struct store *store = store_find(word);
        (void)arg;

        if (!store || !store->data_file)
                options_refuse("no such system, or not compiled in", word);
        else if (store->is_of_one_process)
                options_refuse("this system belongs to one process at a time", word);
}

static void check_numbers(const struct thesis *thesis)
{
        const uint64_t counts[] = { thesis->inserts,        thesis->random_inserts, thesis->sorted_inserts,
                                    thesis->static_records, thesis->searches,       thesis->memory_mib,
                                    thesis->repetitions };
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
                if (!counts[i] || counts[i] > ORDER_RECORDS_MAX)
                        options_refuse("too few, or too many", "a number");
}

static void parse(struct thesis *thesis, int argc, char **argv)
{
        const char *names = "all", *processes = "1,2", *directory = NULL, *csv_path = "thesis.csv";
        const struct option_spec options[] = {
                OPTION_NUMBER("inserts", thesis->inserts, "durable ones, by all processes together"),
                OPTION_NUMBER("records", thesis->static_records, "records of the trees that are searched"),
                OPTION_NUMBER("searches", thesis->searches, "in each of them"),
                OPTION_NUMBER("memory-mib", thesis->memory_mib, "what searches may use, where groups are permitted"),
                OPTION_NUMBER("random-inserts", thesis->random_inserts, "before the range query"),
                OPTION_NUMBER("sorted-inserts", thesis->sorted_inserts, "in ascending order"),
                OPTION_TEXT("systems", thesis->systems, store_names()),
                OPTION_TEXT("processes", processes, "numbers of processes that insert durably"),
                OPTION_NUMBER("reps", thesis->repetitions, "how often each is run"),
                OPTION_TEXT("directory", directory, "where the trees lie, instead of $TMPDIR"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        if (argc > 1 && argv[1][0] != '-') {
                names = argv[1];
                argv[1] = argv[0];
                argc--;
                argv++;
        }
        options_parse(argc, argv, PURPOSE, options);
        options_words(names, take_experiment, NULL);
        if (thesis->systems)
                options_words(thesis->systems, check_system, NULL);
        options_numbers(processes, 1, WORKERS_MAX, &thesis->processes);
        check_numbers(thesis);
        if (directory && setenv("TMPDIR", directory, 1) != 0)
                scratch_fail(-errno, directory);
        csv_open(&thesis->csv, csv_path, "thesis");
}

/* ---- what the experiments have in common ---- */

static void take_system(const char *word, void *arg)
{
        struct thesis_systems *systems = arg;
        const struct store *store = store_find(word);

        if (store && systems->count < THESIS_SYSTEMS_MAX)
                systems->stores[systems->count++] = store;
}

void thesis_choose(const struct thesis *thesis, const char *defaults, struct thesis_systems *systems)
{
        systems->count = 0;
        options_words(thesis->systems ? thesis->systems : defaults, take_system, systems);
}

int thesis_find(const struct thesis_systems *systems, const char *name)
{
        for (int s = 0; s < systems->count; s++)
                if (strcmp(systems->stores[s]->name, name) == 0)
                        return s;
        return -1;
}

void thesis_progress(const struct thesis *thesis, const char *experiment, uint64_t repetition, const char *system,
                     int processes)
{
        const bool is_terminal = isatty(STDERR_FILENO);
        fprintf(stderr, "%s%s: repetition %" PRIu64 " of %" PRIu64 ": %s, %d processes%s",
                is_terminal ? "\r\033[K" : "", experiment, repetition + 1, thesis->repetitions, system, processes,
                is_terminal ? "" : "\n");
}

void thesis_progress_done(void)
{
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K");
}

void thesis_rows(struct csv *csv, struct csv_series *series, const char *metric, const char *unit, const char *param,
                 const struct samples *samples)
{
        series->metric = metric;
        series->unit = unit;
        for (size_t i = 0; i < samples->count; i++)
                csv_text_row(csv, series, param, samples->value[i]);
}

int main(int argc, char **argv)
{
        static struct thesis thesis = { .inserts = 250000,
                                        .random_inserts = 250000,
                                        .sorted_inserts = 450000,
                                        .static_records = 2000000,
                                        .searches = 1000,
                                        .memory_mib = 64,
                                        .repetitions = 3 };

        parse(&thesis, argc, argv);
        for (int i = 0; i < chosen.count; i++)
                chosen.experiments[i]->run(&thesis);
        csv_close(&thesis.csv);
        return EXIT_SUCCESS;
}
