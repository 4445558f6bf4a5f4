/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/experiments.h"

#include <inttypes.h>

void place_open(const struct bench *bench, const struct system_spec *spec, struct place *place)
{
        struct engine_plan plan = bench->plan;

        scratch_make(&place->scratch, 0);
        plan.directory = place->scratch.directory;
        system_open(&place->system, spec, &plan, &bench->tables);
}

void place_close(struct place *place)
{
        system_close(&place->system);
        scratch_remove_memory(place->scratch.directory);
        scratch_remove(&place->scratch);
}

void bench_row(const struct bench *bench, const char *system, int threads, const char *param, const char *metric,
               const char *unit, double value)
{
        const struct csv_series series = { system, 1, threads, 0, metric, unit };
        if (bench->csv)
                csv_text_row(bench->csv, &series, param, value);
}

struct crew_plan bench_crew(const struct bench *bench, struct system *system, int oltp_threads, int olap_threads,
                            uint64_t repetition)
{
        return (struct crew_plan){ .system = system,
                                   .oltp_threads = oltp_threads,
                                   .olap_threads = olap_threads,
                                   .warm_up_ns = bench->warm_up_ns,
                                   .ns = bench->ns,
                                   .oltp = OLTP_KINDS,
                                   .seed = bench->seed + repetition };
}

static double mean(const struct samples *samples)
{
        double sum = 0;
        for (size_t i = 0; i < samples->count; i++)
                sum += samples->value[i];
        return samples->count ? sum / (double)samples->count : 0;
}

/* ---- mix: some threads run transactions, some run queries ---- */

static void print_queries(const struct crew_result *result)
{
        for (int k = 0; k < OLAP_KINDS; k++) {
                const struct samples *ms = &result->latency_ms[k];
                if (ms->count)
                        printf("  %-14s %6zu times  mean %8.3f  median %8.3f  %8.3f to %8.3f ms\n", olap_name[k],
                               ms->count, mean(ms), samples_median(ms), samples_min(ms), samples_max(ms));
        }
}

static void mix_once(struct bench *bench, struct place *place, uint64_t repetition)
{
        const char *name = place->system.spec->name;
        const int threads = bench->oltp_threads + bench->olap_threads;
        const struct crew_plan plan =
                bench_crew(bench, &place->system, bench->oltp_threads, bench->olap_threads, repetition);
        struct crew_result result;

        crew_run(&plan, &result);
        const double per_s = (double)result.transactions / result.seconds;
        printf("%s: %.0f transactions/s, %.4f %% lost, %.1f queries/s\n", name, per_s,
               result.transactions ? 100 * (double)result.lost / (double)(result.lost + result.transactions) : 0,
               (double)result.queries / result.seconds);
        print_queries(&result);
        bench_row(bench, name, threads, "", "transactions", "per_s", per_s);
        bench_row(bench, name, threads, "", "queries", "per_s", (double)result.queries / result.seconds);
        crew_result_free(&result);
        if (place->system.engine) {
                char text[160];
                place->system.spec->ops->describe(place->system.engine, text, sizeof(text));
                printf("  %s\n", text);
        }
}

void experiment_mix(struct bench *bench)
{
        struct place place[SYSTEMS_MAX];

        for (int s = 0; s < bench->systems; s++)
                place_open(bench, bench->spec[s], &place[s]);
        for (uint64_t r = 0; r < bench->repetitions; r++)
                for (int s = 0; s < bench->systems; s++)
                        mix_once(bench, &place[s], r);
        for (int s = 0; s < bench->systems; s++)
                place_close(&place[s]);
}

/* ---- latency: of queries with and without transactions beside them ---- */

struct latencies {
        struct samples alone[OLAP_KINDS], loaded[OLAP_KINDS]; /* a mean for each repetition */
};

static void measure_latency(const struct bench *bench, struct place *place, int oltp_threads, uint64_t repetition,
                            struct samples into[OLAP_KINDS])
{
        const char *metric = oltp_threads ? "loaded" : "alone";
        struct crew_plan plan = bench_crew(bench, &place->system, oltp_threads, 1, repetition);
        struct crew_result result;

        plan.least_queries = OLAP_KINDS;
        crew_run(&plan, &result);
        for (int k = 0; k < OLAP_KINDS; k++) {
                samples_add(&into[k], mean(&result.latency_ms[k]));
                bench_row(bench, place->system.spec->name, oltp_threads + 1, olap_name[k], metric, "ms",
                          mean(&result.latency_ms[k]));
        }
        bench_row(bench, place->system.spec->name, oltp_threads + 1, "",
                  oltp_threads ? "loaded_transactions" : "alone_transactions", "per_s",
                  (double)result.transactions / result.seconds);
        crew_result_free(&result);
}

static void print_latencies(const struct bench *bench, struct latencies *latencies)
{
        for (int k = 0; k < OLAP_KINDS; k++)
                for (int s = 0; s < bench->systems; s++) {
                        struct latencies *of = &latencies[s];
                        printf("%-14s %-24s alone %9.3f ms  loaded %9.3f ms  x%5.2f", olap_name[k],
                               bench->spec[s]->name, samples_median(&of->alone[k]), samples_median(&of->loaded[k]),
                               samples_ratio(&of->loaded[k], &of->alone[k]));
                        printf("  %5.2f times %s\n", samples_ratio(&of->loaded[k], &latencies[0].loaded[k]),
                               bench->spec[0]->name);
                }
}

void experiment_latency(struct bench *bench)
{
        struct place place[SYSTEMS_MAX];
        struct latencies latencies[SYSTEMS_MAX] = { 0 };

        for (int s = 0; s < bench->systems; s++)
                place_open(bench, bench->spec[s], &place[s]);
        for (uint64_t r = 0; r < bench->repetitions; r++) {
                for (int s = 0; s < bench->systems; s++)
                        measure_latency(bench, &place[s], bench->oltp_threads, r, latencies[s].loaded);
                for (int s = 0; s < bench->systems; s++) /* the collector has come by since the last transaction */
                        measure_latency(bench, &place[s], 0, r, latencies[s].alone);
        }
        print_latencies(bench, latencies);
        for (int s = 0; s < bench->systems; s++) {
                place_close(&place[s]);
                for (int k = 0; k < OLAP_KINDS; k++) {
                        samples_free(&latencies[s].alone[k]);
                        samples_free(&latencies[s].loaded[k]);
                }
        }
}
