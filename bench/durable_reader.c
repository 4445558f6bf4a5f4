/* SPDX-License-Identifier: MIT */

/*
 * A snapshot that is held while others commit durably. The parent holds it: it begins a read-only
 * transaction, reads every page, and reads every page again when the phase ends: it must find what
 * it found at first. Phases without and with it alternate; in those without it the parent has the
 * environment open all the same.
 *
 * The log is small, so that checkpoints run all the time: none of them can bring home what the
 * snapshot holds back, and yet the log must not grow, nor may commits wait.
 */

#include "bench/durable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/durable_experiments.h"
#include "bench/durable_notes.h"
#include "bench/durable_systems.h"
#include "bench/support/scratch.h"

enum { WRITERS = 4, LOG_MIB = 16, WARM_UP_MS = 500, CELLS_IN_A_PHASE = 10 };

static const double STALL_LIMIT_MS = 100, SLOWDOWN_LIMIT = 1.15, LOG_LIMIT_MIB = 2 * LOG_MIB;

enum { FREE, HELD, PHASES };
static const char *const phase_names[PHASES] = { "no_snapshot", "snapshot_held" };

enum { RATE, P50, P99, STALL, CHECKPOINTS, LOG_MAX, POOL_MAX, METRICS };
static const struct metric {
        const char *name, *unit;
} metrics[METRICS] = {
        [RATE] = { "rate", "commits_per_second" },
        [P50] = { "latency_p50", "us" },
        [P99] = { "latency_p99", "us" },
        [STALL] = { "latency_max", "us" },
        [CHECKPOINTS] = { "checkpoints", "in_a_phase" },
        [LOG_MAX] = { "log_max", "bytes" },
        [POOL_MAX] = { "pool_max", "bytes" },
};

struct experiment {
        struct durable *durable;
        struct scratch scratch;
        struct samples samples[PHASES][METRICS];
        struct samples log[PHASES]; /* bytes, over time */
};

/* ---- the parent, during a phase ---- */

struct watcher {
        struct scratch scratch;
        bool holds_snapshot;
        uint64_t first; /* sum of what the snapshot shows */
        struct samples log, pool;
};

static uint64_t read_all(const struct scratch *scratch)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < scratch->pages; i++) {
                const uint64_t *page = xac_page_read(scratch->env, scratch_page(scratch, i));
                for (size_t w = 0; page && w < SCRATCH_PAGE / sizeof(*page); w += 64)
                        sum = sum * 31 + page[w];
        }
        return sum;
}

static void watch_begin(struct watcher *watcher)
{
        scratch_open(&watcher->scratch, 0);
        if (!watcher->holds_snapshot)
                return;
        must(xbegin(watcher->scratch.env, XAC_RDONLY), "reader: xbegin");
        watcher->first = read_all(&watcher->scratch);
}

static void watch_run(struct watcher *watcher)
{
        xac_stats stats;
        must(xac_stat(watcher->scratch.env, &stats), "xac_stat");
        samples_add(&watcher->log, (double)stats.log_bytes_used);
        samples_add(&watcher->pool, (double)stats.pool_bytes_used);
}

static void watch_end(struct watcher *watcher)
{
        if (watcher->holds_snapshot) {
                if (read_all(&watcher->scratch) != watcher->first) {
                        fprintf(stderr, "the held snapshot has CHANGED\n");
                        exit(EXIT_FAILURE);
                }
                must(xend(watcher->scratch.env), "reader: xend");
        }
        scratch_close(&watcher->scratch);
}

static void watch(void *arg, const char *directory, enum crew_moment moment)
{
        static void (*const doing[])(
                struct watcher *) = { [CREW_BEGINS] = watch_begin, [CREW_RUNS] = watch_run, [CREW_ENDS] = watch_end };
        (void)directory;
        doing[moment](arg);
}

/* ---- phases ---- */

static void keep(struct experiment *experiment, int phase, const struct crew_outcome *outcome,
                 const struct notes *notes, const struct watcher *watcher)
{
        struct samples *samples = experiment->samples[phase];

        samples_add(&samples[RATE], outcome->per_second);
        samples_add(&samples[P50], histogram_quantile_ns(&outcome->latency, 0.5) / 1000);
        samples_add(&samples[P99], histogram_quantile_ns(&outcome->latency, 0.99) / 1000);
        samples_add(&samples[STALL], (double)outcome->latency.max_ns / 1000);
        samples_add(&samples[CHECKPOINTS], notes_checkpoints(notes));
        samples_add(&samples[LOG_MAX], samples_max(&watcher->log));
        samples_add(&samples[POOL_MAX], samples_max(&watcher->pool));
        for (size_t i = 0; i < watcher->log.count; i++)
                samples_add(&experiment->log[phase], watcher->log.value[i]);
}

static void run_phase(struct experiment *experiment, int phase)
{
        struct notes *notes = notes_new(1);
        struct watcher watcher = { .scratch = experiment->scratch, .holds_snapshot = phase == HELD };
        struct crew_plan plan = {
                .system = &system_commit,
                .task = { .directory = experiment->scratch.directory,
                          .options = experiment->scratch.options,
                          .work = commit_work },
                .processes = WRITERS,
                .threads = 1,
                .warm_up_ns = (uint64_t)WARM_UP_MS * 1000000,
                .run_ns = CELLS_IN_A_PHASE * experiment->durable->seconds * 1000000000,
                .has_latencies = true,
                .note = notes_take_all,
                .notes = notes,
                .watch = watch,
                .watch_arg = &watcher,
        };
        struct crew_outcome outcome;

        crew_run(&plan, &outcome);
        keep(experiment, phase, &outcome, notes, &watcher);
        samples_free(&watcher.log);
        samples_free(&watcher.pool);
        notes_free(notes);
}

/* ---- results ---- */

static void print_table(const struct experiment *experiment)
{
        printf("\n%d writers commit durably, and a snapshot is held or not; %" PRIu64 " phases of %" PRIu64
               " s of each kind, in turn; %d MiB of log\n\n",
               WRITERS, experiment->durable->repetitions, CELLS_IN_A_PHASE * experiment->durable->seconds, LOG_MIB);
        printf("%-15s %-24s %8s %8s %-24s %11s %9s %9s\n", "phase", "commits/s", "p50 us", "p99 us", "slowest ms",
               "checkpoints", "log MiB", "pool MiB");
        for (int phase = 0; phase < PHASES; phase++) {
                char rate[DURABLE_TEXT], stall[DURABLE_TEXT];
                const struct samples *s = experiment->samples[phase];
                printf("%-15s %-24s %8.0f %8.0f %-24s %11.0f %9.1f %9.1f\n", phase_names[phase],
                       durable_spread(rate, &s[RATE], 1, 0), samples_median(&s[P50]), samples_median(&s[P99]),
                       durable_spread(stall, &s[STALL], 1000, 1), samples_median(&s[CHECKPOINTS]),
                       samples_max(&s[LOG_MAX]) / (1 << 20), samples_max(&s[POOL_MAX]) / (1 << 20));
        }
        printf("\n");
}

/* Of neighbouring phases. */
static double slowdown(const struct experiment *experiment)
{
        return samples_ratio(&experiment->samples[FREE][RATE], &experiment->samples[HELD][RATE]);
}

static int print_verdicts(const struct experiment *experiment)
{
        const struct samples *held = experiment->samples[HELD];

        return scratch_verdict("durable writers slower under a held snapshot", slowdown(experiment), SLOWDOWN_LIMIT,
                               "times") +
               scratch_verdict("slowest commit under a held snapshot", samples_max(&held[STALL]) / 1000, STALL_LIMIT_MS,
                               "ms") +
               scratch_verdict("log under a held snapshot", samples_max(&held[LOG_MAX]) / (1 << 20), LOG_LIMIT_MIB,
                               "MiB");
}

static void write_csv(struct experiment *experiment)
{
        struct csv *csv = &experiment->durable->csv;

        for (int phase = 0; phase < PHASES; phase++) {
                struct csv_series series = { phase_names[phase], WRITERS, 1, LOG_MIB, NULL, NULL };
                for (int metric = 0; metric < METRICS; metric++) {
                        series.metric = metrics[metric].name;
                        series.unit = metrics[metric].unit;
                        csv_rows(csv, &series, &experiment->samples[phase][metric]);
                        samples_free(&experiment->samples[phase][metric]);
                }
                series.metric = "log_over_time";
                series.unit = "bytes";
                csv_rows(csv, &series, &experiment->log[phase]);
                samples_free(&experiment->log[phase]);
        }
}

int durable_reader(struct durable *durable)
{
        static struct experiment experiment;
        const xac_options options = { .log_bytes = (uint64_t)LOG_MIB << 20 };

        experiment.durable = durable;
        commit_make_used(&experiment.scratch, &options);
        for (uint64_t r = 0; r < durable->repetitions; r++)
                for (int phase = 0; phase < PHASES; phase++) {
                        durable_progress("reader: repetition %" PRIu64 " of %" PRIu64 ", %s", r + 1,
                                         durable->repetitions, phase_names[phase]);
                        run_phase(&experiment, phase);
                }
        durable_progress_end();
        print_table(&experiment);
        int missed = print_verdicts(&experiment);
        write_csv(&experiment);
        commit_remove_used(&experiment.scratch);
        return missed;
}
