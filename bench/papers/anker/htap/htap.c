/* SPDX-License-Identifier: MIT */

/*
 * Transactions and queries on the same tables (README.md). The options choose experiments, systems and sizes.
 */

#include <stdlib.h>
#include <string.h>

#include "bench/papers/anker/htap/experiments.h"
#include "bench/papers/anker/htap/generator.h"

static const struct experiment {
        const char *name;
        void (*run)(struct bench *bench);
} experiments[] = {
        { "mix", experiment_mix },
        { "latency", experiment_latency },
        { "throughput", experiment_throughput },
        { "scaling", experiment_scaling },
        { "validation", experiment_validation },
        { "versioned", experiment_versioned },
        { "plain", experiment_plain },
        { "answers", experiment_answers },
};

struct choice {
        const struct experiment *chosen[sizeof(experiments) / sizeof(experiments[0])];
        int count;
};

static void choose_experiment(const char *word, void *arg)
{
        struct choice *choice = arg;
        const int all = (int)(sizeof(experiments) / sizeof(experiments[0]));

        for (int e = 0; e < all && choice->count < all; e++)
                if (strcmp(experiments[e].name, word) == 0) {
                        choice->chosen[choice->count++] = &experiments[e];
                        return;
                }
        options_refuse("no such experiment", word);
}

static void choose_system(const char *word, void *arg)
{
        struct bench *bench = arg;
        const struct system_spec *spec = system_find(word);

        if (!spec && strcmp(word, "sqlite") == 0) {
                fprintf(stderr, "no SQLite: it was not found by configure\n");
                return;
        }
        if (!spec || bench->systems == SYSTEMS_MAX)
                options_refuse("no such system, or too many", word);
        bench->spec[bench->systems++] = spec;
}

static void run(struct bench *bench, const struct choice *choice, const char *path)
{
        struct csv csv;

        if (path) {
                csv_open(&csv, path, "");
                bench->csv = &csv;
        }
        for (int e = 0; e < choice->count; e++) {
                printf("---- %s ----\n", choice->chosen[e]->name);
                csv.experiment = choice->chosen[e]->name;
                choice->chosen[e]->run(bench);
                fflush(stdout);
        }
        if (path)
                csv_close(&csv);
        bench->csv = NULL;
}

/* What the command line says in another form than the bench has it. */
struct words {
        uint64_t scale, oltp, olap, ms, warm_up_ms;
        const char *experiments, *systems, *threads, *percents, *csv;
        bool is_checked;
};

static void parse(int argc, char **argv, struct bench *bench, struct words *words)
{
        const struct option_spec specs[] = {
                OPTION_TEXT("experiment", words->experiments,
                            "mix,latency,throughput,scaling,validation,versioned,plain,answers"),
                OPTION_TEXT("engine", words->systems,
                            "homogeneous[-eager|-snapshot],heterogeneous[-pages|-snapshot],sqlite"),
                OPTION_NUMBER("scale", words->scale, "permille of the scale factor 1, which has 6 million lines"),
                OPTION_NUMBER("oltp", words->oltp, "threads that run transactions"),
                OPTION_NUMBER("olap", words->olap, "threads that run queries"),
                OPTION_NUMBER("refresh", bench->plan.refresh_commits,
                              "commits after which a query gets a new snapshot"),
                OPTION_NUMBER("collect", bench->plan.collect_ms, "milliseconds between passes of the collector"),
                OPTION_NUMBER("milliseconds", words->ms, "for each measurement"),
                OPTION_NUMBER("warm-up", words->warm_up_ms, "milliseconds before each"),
                OPTION_NUMBER("repetitions", bench->repetitions, "of each measurement"),
                OPTION_NUMBER("per-query", bench->transactions_per_query,
                              "transactions for each query of a mixed stream"),
                OPTION_NUMBER("transactions", bench->transactions, "before answers are compared"),
                OPTION_TEXT("threads", words->threads, "scaling: numbers of threads"),
                OPTION_TEXT("percents", words->percents, "versioned: rows that have versions"),
                OPTION_TEXT("dump", bench->dump, "answers: leaves snapshots in this folder"),
                OPTION_NUMBER("seed", bench->seed, "of all that is random"),
                OPTION_TEXT("csv", words->csv, "every measurement goes into this file"),
                OPTION_FLAG("check", words->is_checked, "exit with status 1 if a figure is not what it should be"),
                OPTION_END,
        };

        options_parse(argc, argv, "Transactions and queries on the same tables, by several systems.", specs);
}

int main(int argc, char **argv)
{
        struct bench bench = { .plan = { .refresh_commits = 10000, .collect_ms = 1000 },
                               .repetitions = 3,
                               .transactions_per_query = 1000,
                               .transactions = 20000,
                               .seed = 1 };
        struct words words = { .scale = 100,
                               .oltp = 1,
                               .olap = 1,
                               .ms = 3000,
                               .warm_up_ms = 300,
                               .experiments = "mix",
                               .systems = "homogeneous,heterogeneous",
                               .threads = "1,2,4",
                               .percents = "0,1,2,5,10,25,50,75,100" };
        struct choice choice = { .count = 0 };

        parse(argc, argv, &bench, &words);
        options_words(words.experiments, choose_experiment, &choice);
        options_words(words.systems, choose_system, &bench);
        options_numbers(words.threads, 1, CREW_THREADS, &bench.threads);
        options_numbers(words.percents, 0, 100, &bench.percents);
        if (words.oltp + words.olap == 0 || words.oltp + words.olap > CREW_THREADS)
                options_refuse("1 to 32 threads", "--oltp, --olap");
        bench.oltp_threads = (int)words.oltp;
        bench.olap_threads = (int)words.olap;
        bench.ns = words.ms * 1000000;
        bench.warm_up_ns = words.warm_up_ms * 1000000;
        must(generator_run(&bench.tables, words.scale, bench.seed), "the tables");
        run(&bench, &choice, words.csv);
        tables_free(&bench.tables);
        return words.is_checked && bench.failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
