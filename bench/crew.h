/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

/*
 * A crew runs one cell of a table: `processes` processes of `threads` threads. Each thread opens the system, warms up,
 * waits for the others, and runs transactions until the first process tells it to stop. At the end the integers must
 * add up to what was committed.
 */

#include "bench/crew_systems.h"
#include "bench/support/histogram.h"

enum { CREW_MAX = 16 }; /* workers */

enum crew_moment { CREW_BEGINS, CREW_RUNS, CREW_ENDS };

struct crew_plan {
        const struct system *system;
        struct task task; /* all but the worker and the memory; a directory, or NULL: one for this cell */
        int processes, threads;
        uint64_t warm_up_ns, run_ns;
        bool has_latencies; /* each transaction is timed */
        bool is_pinned;     /* each worker stays on a processor, in turn */

        /* If not NULL: called by each worker just before it begins and after it has ended. */
        void (*note)(void *notes, void *seat, int worker, enum crew_moment moment);
        void *notes; /* in memory that children share */
        /* If not NULL: called by the parent before the workers begin, again and again while they run,
         * and when they have been told to stop. */
        void (*watch)(void *arg, const char *directory, enum crew_moment moment);
        void *watch_arg;
};

struct crew_outcome {
        double per_second;        /* transactions committed, by all workers together */
        double aborts_per_commit; /* attempts lost for each */
        double fairness;          /* the slowest worker's rate over the fastest one's */
        struct histogram latency; /* of all workers; empty unless has_latencies */
};

/* Ends the program when a worker fails or is stuck. */
void crew_run(const struct crew_plan *plan, struct crew_outcome *outcome);

#endif
