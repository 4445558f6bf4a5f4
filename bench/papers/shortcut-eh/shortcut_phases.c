/* SPDX-License-Identifier: MIT */

/*
 * Inserts and lookups by turns (figure 9 of the paper): a table gets 92 % of the records; then there are four waves of
 * 2 % as many operations, each of which begins with a burst of inserts, 1 % of the wave, and goes on with lookups. The
 * time of each 200th part of a wave is noted, and whether lookups take the shortcut after it.
 *
 * Lookups in step and out of step are compared within one run: where a wave was never in step, or never out of it,
 * there is no figure.
 */

#include "bench/papers/shortcut-eh/shortcut.h"

#include <inttypes.h>

#include "bench/papers/shortcut-eh/shortcut_systems.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/processor.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum { WAVES = 4, POINTS = 200, INSERT_POINTS = 2, LOADED_PERCENT = 92, WAVE_PERCENT = 2 };

struct point {
        double ns; /* of an operation */
        bool is_in_step;
};

struct run {
        const struct shortcut_bench *bench;
        const struct hash_data *data;
        const struct hash_system *system;
        struct point point[WAVES][POINTS];
        double step_ms[WAVES]; /* from the last insert until it is in step */
};

struct figures {
        const struct hash_system *system;
        struct samples insert_ns, out_ns, in_ns, step_ms;
        struct samples ns[WAVES][POINTS], in_step[WAVES][POINTS];
};

/* ---- a run ---- */

static uint64_t point_count(const struct shortcut_bench *bench)
{
        const uint64_t count = bench->records * WAVE_PERCENT / 100 / POINTS;
        return count ? count : 1;
}

static uint64_t loaded(const struct shortcut_bench *bench)
{
        return bench->records * LOADED_PERCENT / 100;
}

static bool is_in_step(const struct run *run, void *table)
{
        return run->system->is_in_step && run->system->is_in_step(table);
}

/* Lookups of whatever is there by now, checked outside of the time. */
static double look_up_ns(const struct run *run, void *table, uint64_t below, uint64_t seed)
{
        const struct hash_reads reads = {
                .data = run->data, .below = below, .count = point_count(run->bench), .seed = seed
        };
        const uint64_t should_be = hash_data_sum(&reads);
        const uint64_t start = measure_now_ns();
        const uint64_t sum = run->system->look_up(table, &reads);
        const uint64_t ns = measure_now_ns() - start;

        alone_check(run->system->name, sum, should_be);
        return (double)ns / (double)reads.count;
}

static double insert_ns(const struct run *run, void *table, uint64_t first)
{
        const uint64_t count = point_count(run->bench), start = measure_now_ns();

        run->system->insert(table, run->data, first, count);
        return (double)(measure_now_ns() - start) / (double)count;
}

static void run_wave(struct run *run, void *table, int wave)
{
        const uint64_t each = point_count(run->bench);
        uint64_t below = loaded(run->bench) + (uint64_t)wave * INSERT_POINTS * each, inserted_at = 0;

        for (int p = 0; p < POINTS; p++) {
                struct point *point = &run->point[wave][p];
                if (p < INSERT_POINTS) {
                        point->ns = insert_ns(run, table, below);
                        below += each;
                        inserted_at = measure_now_ns();
                } else {
                        point->ns = look_up_ns(run, table, below, run->bench->seed + (uint64_t)(wave * POINTS + p));
                }
                point->is_in_step = is_in_step(run, table);
                if (point->is_in_step && p >= INSERT_POINTS && !run->step_ms[wave])
                        run->step_ms[wave] = (double)(measure_now_ns() - inserted_at) / 1e6;
        }
}

static void measure(void *shared)
{
        struct run *run = shared;

        alone_warm(run->bench->records * 64 + (64 << 20));
        void *table = run->system->create(run->system, run->bench->records, run->bench->fill);
        processor_pin(0);
        run->system->insert(table, run->data, 0, loaded(run->bench));
        if (run->system->settle)
                run->system->settle(table);
        for (int wave = 0; wave < WAVES; wave++)
                run_wave(run, table, wave);
        run->system->destroy(table);
}

/* ---- what was noted ---- */

struct mean {
        double sum;
        int count;
};

static void mean_add(struct mean *mean, double value)
{
        mean->sum += value;
        mean->count++;
}

static void mean_note(const struct mean *mean, struct samples *samples)
{
        if (mean->count)
                samples_add(samples, mean->sum / mean->count);
}

/* A point that began out of step and ended in step counts as out of step. */
static void note(const struct run *run, struct figures *figures)
{
        struct mean insert = { 0 }, out = { 0 }, in = { 0 }, step = { 0 };

        for (int wave = 0; wave < WAVES; wave++) {
                for (int p = 0; p < POINTS; p++) {
                        const struct point *point = &run->point[wave][p];
                        const bool was_in_step = p && run->point[wave][p - 1].is_in_step && point->is_in_step;
                        samples_add(&figures->ns[wave][p], point->ns);
                        samples_add(&figures->in_step[wave][p], point->is_in_step);
                        mean_add(p < INSERT_POINTS ? &insert : was_in_step ? &in : &out, point->ns);
                }
                if (run->step_ms[wave])
                        mean_add(&step, run->step_ms[wave]);
        }
        mean_note(&insert, &figures->insert_ns);
        mean_note(&out, &figures->out_ns);
        mean_note(&in, &figures->in_ns);
        mean_note(&step, &figures->step_ms);
}

/* ---- tables ---- */

static void print_series(const struct shortcut_bench *bench, const struct figures *figures, int count)
{
        static const char *const headings[] = { "system", "page", "operations", "ns", "in step", NULL };
        struct table table;

        report_open_quietly(&table, bench->tsv, "shortcut-phases-series", headings);
        for (int i = 0; i < count; i++)
                for (int at = 0; at < WAVES * POINTS; at++) {
                        hash_systems_print(&table, figures[i].system);
                        table_number(&table, (double)((uint64_t)(at + 1) * point_count(bench)), 0);
                        report_median(&table, &figures[i].ns[at / POINTS][at % POINTS], 2);
                        report_median(&table, &figures[i].in_step[at / POINTS][at % POINTS], 1);
                }
        table_close(&table);
}

static void print_all(const struct shortcut_bench *bench, const struct figures *figures, int count)
{
        static const char *const headings[] = { "system             ", "page",       "insert ns", "lookup out ns",
                                                "lookup in ns",        "ms to step", NULL };
        struct table table;

        report_open(&table, bench->tsv, "shortcut-phases", headings);
        for (int i = 0; i < count; i++) {
                hash_systems_print(&table, figures[i].system);
                report_median(&table, &figures[i].insert_ns, 1);
                report_median(&table, &figures[i].out_ns, 1);
                report_median(&table, &figures[i].in_ns, 1);
                report_median(&table, &figures[i].step_ms, 1);
        }
        table_close(&table);
        print_series(bench, figures, count);
}

static void free_figures(struct figures *figures)
{
        samples_free(&figures->insert_ns);
        samples_free(&figures->out_ns);
        samples_free(&figures->in_ns);
        samples_free(&figures->step_ms);
        for (int at = 0; at < WAVES * POINTS; at++) {
                samples_free(&figures->ns[at / POINTS][at % POINTS]);
                samples_free(&figures->in_step[at / POINTS][at % POINTS]);
        }
}

static void run_rounds(const struct shortcut_bench *bench, struct figures *figures, int count)
{
        struct run *run = memory_share(sizeof(*run));
        struct hash_data data;

        hash_data_make(&data, bench->records, bench->seed);
        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int i = 0; i < count; i++) {
                        *run = (struct run){ .bench = bench, .data = &data, .system = figures[i].system };
                        alone_run_free(measure, run);
                        note(run, &figures[i]);
                }
        memory_free(run, sizeof(*run));
}

void phases_run(const struct shortcut_bench *bench)
{
        struct figures *figures = memory_share(HASH_SYSTEMS_MAX * sizeof(*figures));
        struct hash_systems systems;

        hash_systems_choose(&systems, bench->systems);
        for (int i = 0; i < systems.count; i++)
                figures[i].system = systems.system[i];
        printf("\nHash tables of %" PRIu64 " records: %d waves of %" PRIu64
               " operations, of which the first hundredth inserts: nanoseconds\nof each, out of step with the "
               "directory and "
               "in step, and milliseconds until then. Medians of %" PRIu64 " rounds.\n\n",
               loaded(bench), WAVES, POINTS * point_count(bench), bench->rounds);
        run_rounds(bench, figures, systems.count);
        print_all(bench, figures, systems.count);
        for (int i = 0; i < systems.count; i++)
                free_figures(&figures[i]);
        memory_free(figures, HASH_SYSTEMS_MAX * sizeof(*figures));
}
