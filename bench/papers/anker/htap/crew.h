/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_CREW_H
#define BENCH_PAPERS_ANKER_HTAP_CREW_H

/*
 * Threads that run transactions and queries on an open system for some time. Either some run transactions and some
 * queries, or all draw from one stream, in which a query comes after every so many transactions. A thread takes the
 * kinds of queries in turn.
 *
 * Transactions run for `warm_up_ns` before anything counts. It goes on until so many queries were run, at least. Each
 * thread finishes what it has begun.
 */

#include "bench/papers/anker/htap/systems.h"
#include "bench/support/measure.h"

enum { CREW_THREADS = 32 };

struct crew_plan {
        struct system *system;
        int oltp_threads, olap_threads;
        uint64_t warm_up_ns, ns, least_queries;
        uint64_t transactions_per_query; /* of the stream; 0: there is none, and oltp_threads run transactions alone */
        uint32_t large_rows;             /* that OLTP_LARGE reads; 0: as usual */
        enum oltp_kind oltp;             /* OLTP_KINDS: any */
        uint64_t seed;
};

struct crew_result {
        uint64_t transactions, lost, queries;
        double seconds, processor_seconds;     /* the latter: of all threads, without what runs beside them */
        struct samples latency_ms[OLAP_KINDS]; /* to be freed: crew_result_free() */
};

void crew_run(const struct crew_plan *plan, struct crew_result *result);
void crew_result_free(struct crew_result *result);

#endif
