/* SPDX-License-Identifier: MIT */

/*
 * What a running checkpoint does to those who commit: the same commits in an environment whose log
 * is so short that one checkpoint follows the other, and in one whose log is so long that none
 * runs while it is measured. In turn. The number of checkpoints is taken from the environment's
 * counter and shown.
 */

#include "bench/durable.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench/durable_experiments.h"
#include "bench/durable_notes.h"
#include "bench/durable_systems.h"
#include "bench/support/scratch.h"

enum { COMMITTERS = 4, WARM_UP_MS = 500, CELLS_IN_A_PHASE = 3 };

enum { NONE, MANY, KINDS };
static const struct kind {
        const char *name;
        uint64_t log_mib;
} kinds[KINDS] = {
        [NONE] = { "no_checkpoint", 1024 },
        [MANY] = { "many_checkpoints", 8 },
};

enum { RATE, P50, P99, P999, MAX, CHECKPOINTS, METRICS };
static const struct metric {
        const char *name, *unit;
} metrics[METRICS] = {
        [RATE] = { "rate", "commits_per_second" }, [P50] = { "latency_p50", "us" },
        [P99] = { "latency_p99", "us" },           [P999] = { "latency_p999", "us" },
        [MAX] = { "latency_max", "us" },           [CHECKPOINTS] = { "checkpoints", "per_second" },
};

struct experiment {
        struct durable *durable;
        struct scratch scratch[KINDS];
        xac_options options[KINDS];
        struct samples samples[KINDS][METRICS];
};

static void run_cell(struct experiment *experiment, int kind)
{
        const uint64_t seconds = CELLS_IN_A_PHASE * experiment->durable->seconds;
        struct samples *samples = experiment->samples[kind];
        struct notes *notes = notes_new(1);
        struct crew_plan plan = {
                .system = &system_commit,
                .task = { .directory = experiment->scratch[kind].directory,
                          .options = &experiment->options[kind],
                          .work = commit_work },
                .processes = COMMITTERS,
                .threads = 1,
                .warm_up_ns = (uint64_t)WARM_UP_MS * 1000000,
                .run_ns = seconds * 1000000000,
                .has_latencies = true,
                .note = notes_take_all,
                .notes = notes,
        };
        struct crew_outcome outcome;

        crew_run(&plan, &outcome);
        samples_add(&samples[RATE], outcome.per_second);
        samples_add(&samples[P50], histogram_quantile_ns(&outcome.latency, 0.5) / 1000);
        samples_add(&samples[P99], histogram_quantile_ns(&outcome.latency, 0.99) / 1000);
        samples_add(&samples[P999], histogram_quantile_ns(&outcome.latency, 0.999) / 1000);
        samples_add(&samples[MAX], (double)outcome.latency.max_ns / 1000);
        samples_add(&samples[CHECKPOINTS], notes_checkpoints(notes) / (double)seconds);
        notes_free(notes);
}

static void print_table(const struct experiment *experiment)
{
        printf("\n%d processes commit durably, with and without checkpoints; %" PRIu64 " phases of %" PRIu64
               " s of each kind, in turn\n\n",
               COMMITTERS, experiment->durable->repetitions, CELLS_IN_A_PHASE * experiment->durable->seconds);
        printf("%-17s %-13s %-24s %8s %8s %8s %-24s\n", "", "checkpoints/s", "commits/s", "p50 us", "p99 us",
               "p99.9 us", "slowest us");
        for (int kind = 0; kind < KINDS; kind++) {
                char rate[DURABLE_TEXT], slowest[DURABLE_TEXT];
                const struct samples *s = experiment->samples[kind];
                printf("%-17s %-13.1f %-24s %8.0f %8.0f %8.0f %-24s\n", kinds[kind].name,
                       samples_median(&s[CHECKPOINTS]), durable_spread(rate, &s[RATE], 1, 0), samples_median(&s[P50]),
                       samples_median(&s[P99]), samples_median(&s[P999]), durable_spread(slowest, &s[MAX], 1, 0));
        }
        printf("\n");
}

static void write_csv(struct experiment *experiment)
{
        for (int kind = 0; kind < KINDS; kind++)
                for (int metric = 0; metric < METRICS; metric++) {
                        struct csv_series series = { kinds[kind].name,    COMMITTERS,           1,
                                                     kinds[kind].log_mib, metrics[metric].name, metrics[metric].unit };
                        csv_rows(&experiment->durable->csv, &series, &experiment->samples[kind][metric]);
                        samples_free(&experiment->samples[kind][metric]);
                }
}

/* The short log is used until its segments are recycled; the long one until there is enough of it. */
static void prepare(struct experiment *experiment)
{
        for (int kind = 0; kind < KINDS; kind++) {
                durable_progress("checkpointer: filling %" PRIu64 " MiB of log", kinds[kind].log_mib);
                experiment->options[kind] = (xac_options){ .log_bytes = kinds[kind].log_mib << 20 };
                commit_make_used(&experiment->scratch[kind], &experiment->options[kind]);
        }
}

int durable_checkpointer(struct durable *durable)
{
        static struct experiment experiment;

        experiment.durable = durable;
        prepare(&experiment);
        for (uint64_t r = 0; r < durable->repetitions; r++)
                for (int kind = 0; kind < KINDS; kind++) {
                        durable_progress("checkpointer: repetition %" PRIu64 " of %" PRIu64 ", %s", r + 1,
                                         durable->repetitions, kinds[kind].name);
                        run_cell(&experiment, kind);
                }
        durable_progress_end();
        print_table(&experiment);
        write_csv(&experiment);
        for (int kind = 0; kind < KINDS; kind++)
                commit_remove_used(&experiment.scratch[kind]);
        return 0;
}
