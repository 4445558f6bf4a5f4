/* SPDX-License-Identifier: MIT */
#ifndef BENCH_HTAP_CREW_H
#define BENCH_HTAP_CREW_H

/*
 * Threads that run transactions and queries on an open system. Three ways to end:
 *
 *      ns          when the time is up
 *      rounds      when the first query thread has run its query so often; transactions go on until then
 *      batch       when so many transactions have been run, by all threads alike; with every so many of them comes a
 * query
 *
 * Transactions run for `warm_up_ns` before anything counts.
 */

#include "bench/htap/systems.h"
#include "bench/support/measure.h"

enum { CREW_THREADS = 32 };

struct crew_plan {
        struct system *system;
        int oltp_threads, olap_threads;
        uint64_t warm_up_ns, ns;
        uint64_t transactions_per_query; /* of the stream; 0: there is none, and oltp_threads run transactions alone */
        uint32_t large_rows;             /* that OLTP_LARGE reads; 0: as usual */
        enum oltp_kind oltp;             /* OLTP_KINDS: any */
        enum olap_kind olap;             /* OLAP_KINDS: any */
        uint64_t seed;
};

struct crew_result {
        uint64_t transactions, lost, queries;
        double seconds;
        struct samples latency_ms[OLAP_KINDS]; /* to be freed: crew_result_free() */
};

void crew_run(const struct crew_plan *plan, struct crew_result *result);
void crew_result_free(struct crew_result *result);

#endif
