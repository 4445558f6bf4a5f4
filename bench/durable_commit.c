/* SPDX-License-Identifier: MIT */

/*
 * One small transaction per commit, by several processes or threads, in turn with bare writes of
 * one process: A B A B A. Each B is compared with the mean of the two A beside it. What one write
 * costs is what one commit alone must cost at least; what several commits share in one write is
 * how they become cheaper.
 *
 * All cells use one environment, whose log has been full before (commit_make_used), so that what
 * is measured is not the making of its segments.
 */

#include "bench/durable.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "bench/durable_experiments.h"
#include "bench/durable_notes.h"
#include "bench/durable_systems.h"
#include "bench/support/scratch.h"

enum { LOG_MIB = 256, WARM_UP_MS = 200, CELLS_MAX = 2 * DURABLE_COUNTS_MAX };

static const double ALONE_LEAST = 0.9, SIXTEEN_LEAST = 5;
static const double RECORD_LIMIT = 200;

enum { RATE, P50, P99, P999, MAX, KERNEL, OF_BARE = KERNEL, RATIO, GROUP, RECORD, PADDING, METRICS };
static const struct metric {
        const char *name, *unit;
} metrics[METRICS] = {
        [RATE] = { "rate", "commits_per_second" },
        [P50] = { "latency_p50", "us" },
        [P99] = { "latency_p99", "us" },
        [P999] = { "latency_p999", "us" },
        [MAX] = { "latency_max", "us" },
        [KERNEL] = { "kernel_bytes", "bytes_per_commit" },
        [RATIO] = { "ratio_to_bare", "times" },
        [GROUP] = { "group", "commits_per_group" },
        [RECORD] = { "record_bytes", "bytes_per_commit" },
        [PADDING] = { "padding_bytes", "bytes_per_commit" },
};

struct cell {
        int processes, threads; /* threads of each process */
        struct samples commit[METRICS], bare[OF_BARE + 1];
};

struct experiment {
        struct durable *durable;
        struct scratch scratch;
        struct cell cells[CELLS_MAX];
        int cell_count;
};

static int workers_of(const struct cell *cell)
{
        return cell->processes * cell->threads;
}

/* So many processes; then so many threads of one. */
static void plan_cells(struct experiment *experiment)
{
        const struct durable *durable = experiment->durable;

        for (int i = 0; i < durable->count_len; i++)
                experiment->cells[experiment->cell_count++] =
                        (struct cell){ .processes = durable->counts[i], .threads = 1 };
        for (int i = 0; i < durable->count_len; i++)
                if (durable->counts[i] > 1)
                        experiment->cells[experiment->cell_count++] =
                                (struct cell){ .processes = 1, .threads = durable->counts[i] };
}

static void add_common(struct samples *samples, const struct crew_outcome *outcome, double kernel_bytes)
{
        const struct histogram *latency = &outcome->latency;

        samples_add(&samples[RATE], outcome->per_second);
        samples_add(&samples[P50], histogram_quantile_ns(latency, 0.5) / 1000);
        samples_add(&samples[P99], histogram_quantile_ns(latency, 0.99) / 1000);
        samples_add(&samples[P999], histogram_quantile_ns(latency, 0.999) / 1000);
        samples_add(&samples[MAX], (double)latency->max_ns / 1000);
        samples_add(&samples[KERNEL], kernel_bytes / (double)latency->count);
}

static void run_crew(const struct experiment *experiment, struct crew_plan *plan, struct notes *notes,
                     struct crew_outcome *outcome)
{
        plan->warm_up_ns = (uint64_t)WARM_UP_MS * 1000000;
        plan->run_ns = experiment->durable->seconds * 1000000000;
        plan->has_latencies = true;
        plan->notes = notes;
        crew_run(plan, outcome);
}

/* Writes per second. */
static double run_bare(const struct experiment *experiment, struct cell *cell)
{
        struct notes *notes = notes_new(1);
        struct crew_plan plan = { .system = &system_bare,
                                  .task = { .work = commit_work },
                                  .processes = 1,
                                  .threads = 1,
                                  .note = notes_take_io };
        struct crew_outcome outcome;

        run_crew(experiment, &plan, notes, &outcome);
        add_common(cell->bare, &outcome, notes_kernel_bytes(notes));
        notes_free(notes);
        return outcome.per_second;
}

/* Commits per second. */
static double run_commits(const struct experiment *experiment, struct cell *cell)
{
        struct notes *notes = notes_new(cell->threads);
        struct crew_plan plan = {
                .system = &system_commit,
                .task = { .directory = experiment->scratch.directory,
                          .options = experiment->scratch.options,
                          .work = commit_work },
                .processes = cell->processes,
                .threads = cell->threads,
                .note = notes_take_all,
        };
        struct crew_outcome outcome;

        run_crew(experiment, &plan, notes, &outcome);
        add_common(cell->commit, &outcome, notes_kernel_bytes(notes));
        samples_add(&cell->commit[GROUP], notes_commits(notes) / notes_groups(notes));
        samples_add(&cell->commit[RECORD], notes_record_bytes(notes) / notes_commits(notes));
        samples_add(&cell->commit[PADDING],
                    (notes_log_bytes(notes) - notes_record_bytes(notes)) / notes_commits(notes));
        notes_free(notes);
        return outcome.per_second;
}

static void measure(struct experiment *experiment)
{
        const uint64_t repetitions = experiment->durable->repetitions;

        for (uint64_t r = 0; r < repetitions; r++) {
                double bare_before = run_bare(experiment, &experiment->cells[0]);
                for (int i = 0; i < experiment->cell_count; i++) {
                        struct cell *cell = &experiment->cells[i];
                        durable_progress("commit: repetition %" PRIu64 " of %" PRIu64 ", %d x %d", r + 1, repetitions,
                                         cell->processes, cell->threads);
                        double commits = run_commits(experiment, cell);
                        double bare_after = run_bare(experiment, cell);
                        samples_add(&cell->commit[RATIO], commits / ((bare_before + bare_after) / 2));
                        bare_before = bare_after;
                }
        }
        durable_progress_end();
}

static void print_cell(const struct cell *cell)
{
        char rate[DURABLE_TEXT], ratio[DURABLE_TEXT], bare[DURABLE_TEXT];
        const struct samples *s = cell->commit;

        printf("%3d %-9s %-24s %-24s %-20s %6.1f", workers_of(cell), cell->threads > 1 ? "threads" : "processes",
               durable_spread(bare, &cell->bare[RATE], 1, 0), durable_spread(rate, &s[RATE], 1, 0),
               durable_spread(ratio, &s[RATIO], 1, 2), samples_median(&s[GROUP]));
        for (int metric = P50; metric <= MAX; metric++)
                printf(" %8.0f", samples_median(&s[metric]));
        for (int metric = KERNEL; metric < METRICS; metric++)
                if (metric != RATIO && metric != GROUP)
                        printf(" %7.0f", samples_median(&s[metric]));
        printf("\n");
}

static void print_table(const struct experiment *experiment)
{
        printf("\nDurable commits of one word in a random page of %d; medians of %" PRIu64 " repetitions of %" PRIu64
               " s (minimum to maximum)\n\n",
               COMMIT_PAGES, experiment->durable->repetitions, experiment->durable->seconds);
        printf("%-13s %-24s %-24s %-20s %6s %35s %23s\n", "", "bare writes/s", "commits/s", "commits / bare", "group",
               "latency us: p50  p99  p99.9  max", "bytes: kernel record pad");
        for (int i = 0; i < experiment->cell_count; i++)
                print_cell(&experiment->cells[i]);
        printf("\n");
}

static int print_verdicts(const struct experiment *experiment)
{
        int missed = 0;

        for (int i = 0; i < experiment->cell_count; i++) {
                const struct cell *cell = &experiment->cells[i];
                double ratio = samples_median(&cell->commit[RATIO]);
                if (workers_of(cell) == 1) {
                        missed += scratch_verdict_least("commits of 1 process / bare writes", ratio, ALONE_LEAST,
                                                        "times");
                        missed += scratch_verdict("record of one changed word", samples_median(&cell->commit[RECORD]),
                                                  RECORD_LIMIT, "bytes");
                }
                if (cell->processes == 16)
                        missed += scratch_verdict_least("commits of 16 processes / bare writes", ratio, SIXTEEN_LEAST,
                                                        "times");
        }
        return missed;
}

static void write_cell(struct csv *csv, struct cell *cell)
{
        for (int metric = 0; metric < METRICS; metric++) {
                struct csv_series series = { system_commit.name,         cell->processes,      cell->threads,
                                             (uint64_t)workers_of(cell), metrics[metric].name, metrics[metric].unit };
                csv_rows(csv, &series, &cell->commit[metric]);
                samples_free(&cell->commit[metric]);
        }
        for (int metric = 0; metric <= OF_BARE; metric++) { /* param: after how many workers' commits */
                struct csv_series series = {
                        system_bare.name, 1, 1, (uint64_t)workers_of(cell), metrics[metric].name, metrics[metric].unit
                };
                csv_rows(csv, &series, &cell->bare[metric]);
                samples_free(&cell->bare[metric]);
        }
}

int durable_commit(struct durable *durable)
{
        static struct experiment experiment;
        const xac_options options = { .log_bytes = (uint64_t)LOG_MIB << 20 };

        experiment.durable = durable;
        plan_cells(&experiment);
        durable_progress("commit: filling the log for the first time");
        commit_make_used(&experiment.scratch, &options);
        measure(&experiment);
        print_table(&experiment);
        int missed = print_verdicts(&experiment);
        for (int i = 0; i < experiment.cell_count; i++)
                write_cell(&durable->csv, &experiment.cells[i]);
        commit_remove_used(&experiment.scratch);
        return missed;
}
