/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_EXPERIMENTS_H
#define BENCH_PAPERS_ANKER_HTAP_EXPERIMENTS_H

/* What bench/papers/anker/htap/htap measures, an experiment each (README.md). All end the program on failure. */

#include "bench/papers/anker/htap/crew.h"
#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { SYSTEMS_MAX = 8 };

struct bench {
        struct tables tables;
        struct engine_plan plan;
        const struct system_spec *spec[SYSTEMS_MAX];
        int systems;
        int oltp_threads, olap_threads;
        struct option_numbers threads, percents;
        uint64_t warm_up_ns, ns, repetitions, transactions_per_query, transactions, seed;
        const char *dump;
        struct csv *csv;
        int failures;
};

struct place {
        struct scratch scratch;
        struct system system;
};

/* A system in a directory of its own. */
void place_open(const struct bench *bench, const struct system_spec *spec, struct place *place);
void place_close(struct place *place);

void bench_row(const struct bench *bench, const char *system, int threads, const char *param, const char *metric,
               const char *unit, double value);
/* A crew for the bench's time, on any transactions and queries. */
struct crew_plan bench_crew(const struct bench *bench, struct system *system, int oltp_threads, int olap_threads,
                            uint64_t repetition);

void experiment_mix(struct bench *bench);
void experiment_latency(struct bench *bench);
void experiment_throughput(struct bench *bench);
void experiment_scaling(struct bench *bench);
void experiment_validation(struct bench *bench);
void experiment_versioned(struct bench *bench);
void experiment_plain(struct bench *bench);
void experiment_answers(struct bench *bench);

/* Writes the tables as this reader sees them, and the queries with their answers as SQL (dump.c). */
void dump_write(const struct tables *tables, const struct reader *reader, const struct olap *olap,
                const struct answer *answers, int count, const char *directory);

#endif
