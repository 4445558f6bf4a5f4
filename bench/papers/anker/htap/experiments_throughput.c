/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/experiments.h"

#include <inttypes.h>

/* Transactions and queries together, per second and per second that the threads had a processor; and what share of
 * attempts was lost. */
struct rate {
        struct samples per_s, per_processor_s, lost;
};

static void rate_free(struct rate *rate)
{
        samples_free(&rate->per_s);
        samples_free(&rate->per_processor_s);
        samples_free(&rate->lost);
}

static void measure(const struct bench *bench, const struct crew_plan *plan, const char *param, const char *metric,
                    struct rate *rate)
{
        const char *name = plan->system->spec->name;
        const int threads = plan->oltp_threads + plan->olap_threads;
        struct crew_result result;
        char per_processor[32];

        crew_run(plan, &result);
        const double attempts = (double)(result.transactions + result.lost);
        samples_add(&rate->per_s, (double)(result.transactions + result.queries) / result.seconds);
        samples_add(&rate->per_processor_s, (double)(result.transactions + result.queries) / result.processor_seconds);
        samples_add(&rate->lost, attempts > 0 ? (double)result.lost / attempts : 0);
        bench_row(bench, name, threads, param, metric, "per_s", rate->per_s.value[rate->per_s.count - 1]);
        snprintf(per_processor, sizeof(per_processor), "%s_processor", metric);
        bench_row(bench, name, threads, param, per_processor, "per_s",
                  rate->per_processor_s.value[rate->per_processor_s.count - 1]);
        bench_row(bench, name, threads, param, "lost", "share", rate->lost.value[rate->lost.count - 1]);
        crew_result_free(&result);
}

/* ---- throughput: transactions alone, and a stream with queries in it ---- */

static void print_rate(const char *what, const struct rate *rate, const struct rate *first)
{
        printf("  %s %9.0f /s %5.2f times, %9.0f /processor-s %5.2f times", what, samples_median(&rate->per_s),
               samples_ratio(&rate->per_s, &first->per_s), samples_median(&rate->per_processor_s),
               samples_ratio(&rate->per_processor_s, &first->per_processor_s));
}

static void print_throughput(const struct bench *bench, struct rate *alone, struct rate *mixed)
{
        for (int s = 0; s < bench->systems; s++) {
                printf("%-24s", bench->spec[s]->name);
                print_rate("transactions", &alone[s], &alone[0]);
                printf("  lost %.5f\n%-24s", samples_median(&alone[s].lost), "");
                print_rate("mixed       ", &mixed[s], &mixed[0]);
                printf("\n");
        }
        for (int s = 0; s < bench->systems; s++) {
                rate_free(&alone[s]);
                rate_free(&mixed[s]);
        }
}

/* With so many threads. */
static void throughput(struct bench *bench, int threads)
{
        struct rate alone[SYSTEMS_MAX] = { 0 }, mixed[SYSTEMS_MAX] = { 0 };
        struct place place[SYSTEMS_MAX];

        for (int s = 0; s < bench->systems; s++)
                place_open(bench, bench->spec[s], &place[s]);
        for (uint64_t r = 0; r < bench->repetitions; r++)
                for (int s = 0; s < bench->systems; s++) {
                        struct crew_plan plan = bench_crew(bench, &place[s].system, threads, 0, r);
                        measure(bench, &plan, "", "transactions", &alone[s]);
                        plan.transactions_per_query = bench->transactions_per_query;
                        plan.least_queries = (uint64_t)threads * OLAP_KINDS;
                        measure(bench, &plan, "", "mixed", &mixed[s]);
                }
        for (int s = 0; s < bench->systems; s++)
                place_close(&place[s]);
        print_throughput(bench, alone, mixed);
}

void experiment_throughput(struct bench *bench)
{
        throughput(bench, bench->oltp_threads + bench->olap_threads);
}

void experiment_scaling(struct bench *bench)
{
        for (int t = 0; t < bench->threads.count; t++) {
                printf("%" PRIu64 " threads\n", bench->threads.value[t]);
                throughput(bench, (int)bench->threads.value[t]);
        }
}

/* ---- validation: what it costs, and what it loses, by the kind of the transactions ---- */

struct load {
        const char *name;
        enum oltp_kind oltp;
        uint32_t large_rows;
};

static void validate_under(struct bench *bench, struct place *place, const struct load *load)
{
        struct rate rate[SYSTEMS_MAX] = { 0 };

        for (uint64_t r = 0; r < bench->repetitions; r++)
                for (int s = 0; s < bench->systems; s++) {
                        struct crew_plan plan =
                                bench_crew(bench, &place[s].system, bench->oltp_threads + bench->olap_threads, 0, r);
                        plan.oltp = load->oltp;
                        plan.large_rows = load->large_rows;
                        measure(bench, &plan, load->name, "transactions", &rate[s]);
                }
        for (int s = 0; s < bench->systems; s++) {
                printf("%-12s %-24s", load->name, bench->spec[s]->name);
                print_rate("", &rate[s], &rate[0]);
                printf("  lost %.5f\n", samples_median(&rate[s].lost));
        }
        for (int s = 0; s < bench->systems; s++)
                rate_free(&rate[s]);
}

void experiment_validation(struct bench *bench)
{
        static const struct load loads[] = {
                { "all", OLTP_KINDS, 0 },
                { "by_key", OLTP_PRIORITY, 0 },
                { "few_rows", OLTP_TOTAL, 0 },
                { "rows_1000", OLTP_LARGE, 1000 },
                { "rows_10000", OLTP_LARGE, 10000 },
                { "all_10000", OLTP_KINDS, 10000 },
                { "all_whole", OLTP_KINDS, 1000000 },
        };
        struct place place[SYSTEMS_MAX];

        for (int s = 0; s < bench->systems; s++)
                place_open(bench, bench->spec[s], &place[s]);
        for (size_t l = 0; l < sizeof(loads) / sizeof(loads[0]); l++)
                validate_under(bench, place, &loads[l]);
        for (int s = 0; s < bench->systems; s++)
                place_close(&place[s]);
}
