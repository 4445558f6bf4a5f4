/* SPDX-License-Identifier: MIT */

/*
 * The hot paths of the library, one process: what a transaction costs when nothing is in its
 * way. A repetition is a batch of transactions; page faults of the process and of its views
 * are counted over the batches alone.
 *
 * With --marks a line on stderr says where each batch begins and ends, so that strace shows
 * that no system call lies between.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { PAGES = 4096, WARM_PAGES = 64, DECLARED_READS = 4 };

struct load {
        struct scratch scratch;
        uint64_t random;
};

struct plan {
        uint64_t batches, transactions; /* transactions of a batch */
        bool has_marks;
};

struct path {
        const char *name;
        void (*transaction)(struct load *load);
        double limit_ns; /* 0: none */
};

static void end_transaction(xac_env *env)
{
        must(xend(env), "xend");
}

static char *random_page(struct load *load, size_t pages)
{
        return scratch_page(&load->scratch, (measure_random(&load->random) >> 16) % pages);
}

/* Reads four random pages and writes one, by declared access. */
static void run_declared(struct load *load)
{
        xac_env *env = load->scratch.env;
        long sum = 0;

        xbegin(env, 0);
        for (int i = 0; i < DECLARED_READS; i++)
                sum += *(const volatile long *)xac_page_read(env, random_page(load, PAGES));
        *(long *)xac_page_write(env, random_page(load, PAGES)) = sum;
        end_transaction(env);
}

/* Reads one word of a page that the view shows already. */
static void run_warm_read(struct load *load)
{
        xbegin(load->scratch.env, XAC_RDONLY);
        (void)*(volatile char *)random_page(load, WARM_PAGES);
        end_transaction(load->scratch.env);
}

static void run_empty(struct load *load)
{
        xbegin(load->scratch.env, 0);
        end_transaction(load->scratch.env);
}

static void run_empty_read_only(struct load *load)
{
        xbegin(load->scratch.env, XAC_RDONLY);
        end_transaction(load->scratch.env);
}

static const struct path paths[] = {
        { "declared_4_reads_1_write", run_declared, 400 },
        { "warm_view_read", run_warm_read, 80 },
        { "empty_read_only", run_empty_read_only, 0 },
        { "empty", run_empty, 0 },
};

enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

struct result {
        struct samples ns;
        uint64_t minor_faults, view_faults, conflicts;
};

static void mark(const struct plan *plan, const char *path, const char *what)
{
        if (!plan->has_marks)
                return;
        char line[80];
        int length = snprintf(line, sizeof(line), "%s: %s\n", what, path);
        if (write(STDERR_FILENO, line, (size_t)length) != length)
                exit(EXIT_FAILURE);
}

static double run_batch(const struct path *path, struct load *load, uint64_t transactions)
{
        uint64_t start = measure_now_ns();
        for (uint64_t i = 0; i < transactions; i++)
                path->transaction(load);
        return (double)(measure_now_ns() - start) / (double)transactions;
}

static uint64_t view_faults(const xac_stats *stats)
{
        return stats->read_faults + stats->write_faults;
}

static void measure_batches(const struct path *path, struct load *load, const struct plan *plan, struct result *result)
{
        xac_stats before, after;

        run_batch(path, load, plan->transactions); /* warms up */
        must(xac_stat(load->scratch.env, &before), "xac_stat");
        for (uint64_t i = 0; i < plan->batches; i++) {
                uint64_t faults = measure_minor_faults();
                mark(plan, path->name, "begins");
                double ns = run_batch(path, load, plan->transactions);
                mark(plan, path->name, "ends");
                result->minor_faults += measure_minor_faults() - faults;
                samples_add(&result->ns, ns);
        }
        must(xac_stat(load->scratch.env, &after), "xac_stat");
        result->view_faults = view_faults(&after) - view_faults(&before);
        result->conflicts = after.conflicts - before.conflicts;
}

/* Each in a new environment: none finds pages as another left them. */
static void measure_path(const struct path *path, const struct plan *plan, struct result *result)
{
        struct load load = { .random = 88172645463325252u };

        scratch_make(&load.scratch, PAGES);
        scratch_open(&load.scratch, 0);
        scratch_fill(&load.scratch);
        measure_batches(path, &load, plan, result);
        scratch_close(&load.scratch);
        scratch_remove(&load.scratch);
}

static void print_results(const struct result results[PATHS])
{
        printf("\nNanoseconds per transaction, one process, %d pages\n\n", PAGES);
        printf("%-26s %8s %8s %8s %13s %12s %10s\n", "path", "median", "min", "max", "minor_faults", "view_faults",
               "conflicts");
        for (int i = 0; i < PATHS; i++)
                printf("%-26s %8.1f %8.1f %8.1f %13llu %12llu %10llu\n", paths[i].name, samples_median(&results[i].ns),
                       samples_min(&results[i].ns), samples_max(&results[i].ns),
                       (unsigned long long)results[i].minor_faults, (unsigned long long)results[i].view_faults,
                       (unsigned long long)results[i].conflicts);
        printf("\n");
}

static void write_csv(const struct result results[PATHS], const char *csv_path)
{
        struct csv csv;

        csv_open(&csv, csv_path, "hot_path");
        for (int i = 0; i < PATHS; i++) {
                struct csv_series series = { "libxac", 1, 1, PAGES, paths[i].name, "ns_per_transaction" };
                csv_rows(&csv, &series, &results[i].ns);
        }
        csv_close(&csv);
}

static int print_verdicts(const struct result results[PATHS])
{
        int exceeded = 0;
        for (int i = 0; i < PATHS; i++)
                if (paths[i].limit_ns > 0) {
                        exceeded +=
                                scratch_verdict(paths[i].name, samples_median(&results[i].ns), paths[i].limit_ns, "ns");
                        exceeded += scratch_verdict("  faults taken by the process and its views",
                                                    (double)(results[i].minor_faults + results[i].view_faults), 0,
                                                    "faults");
                }
        return exceeded;
}

int main(int argc, char **argv)
{
        struct plan plan = { .batches = 100, .transactions = 20000 };
        const char *csv_path = "hot_path.csv";
        bool check = false;
        const struct option_spec options[] = {
                OPTION_NUMBER("batches", plan.batches, "repetitions"),
                OPTION_NUMBER("transactions", plan.transactions, "transactions in a batch"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_FLAG("marks", plan.has_marks, "say on stderr where each batch begins and ends"),
                OPTION_FLAG("check", check, "exit status 1 if a path is slower than it should be"),
                OPTION_END,
        };
        options_parse(argc, argv, "Transactions with nothing in their way.", options);

        struct result results[PATHS] = { { { 0 }, 0, 0, 0 } };
        for (int i = 0; i < PATHS; i++)
                measure_path(&paths[i], &plan, &results[i]);
        print_results(results);
        int exceeded = print_verdicts(results);
        write_csv(results, csv_path);
        return check && exceeded ? EXIT_FAILURE : EXIT_SUCCESS;
}
