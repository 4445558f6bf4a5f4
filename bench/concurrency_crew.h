/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CONCURRENCY_CREW_H
#define BENCH_CONCURRENCY_CREW_H

/*
 * Runs one cell of bench/concurrency: so many processes of so many threads, all of which open the
 * system, warm up, begin together, and run transactions until they are told to stop. At the end
 * the integers must add up to what was committed.
 */

#include "bench/concurrency_systems.h"

struct crew_plan {
        const struct system *system;
        struct task task; /* all but the worker, the directory and the memory */
        int processes, threads;
        uint64_t warm_up_ns, run_ns;
};

struct crew_outcome {
        double per_second;        /* transactions committed, by all workers together */
        double aborts_per_commit; /* attempts lost for each */
        double fairness;          /* the slowest worker's rate over the fastest one's */
};

/* Ends the program when a worker fails or is stuck. */
void crew_run(const struct crew_plan *plan, struct crew_outcome *outcome);

#endif
