/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_SNAPSHOTS_WORKLOAD_H
#define BENCH_PAPERS_ANKER_SNAPSHOTS_WORKLOAD_H

/*
 * What writers do while others scan: declared transactions that move a count from one page of a column to another, so
 * that the sum stays; or inserts into a B+-tree.
 */

#include "bench/papers/anker/snapshots/bench.h"
#include "bench/support/scratch.h"

struct workload {
        const char *name, *file; /* what the scanner reads */
        void *(*open)(const struct workload *workload, const struct scratch *scratch);
        void (*run)(void *writer, uint64_t transactions);
        void (*close)(void *writer);
        bool has_sum; /* which does not change */
        uint64_t pages;
        uint64_t records;
        uint64_t seed;
};

extern const struct workload workload_transfers, workload_inserts;

/* The file, filled. The environment is opened and closed. */
void workload_prepare(const struct workload *workload, struct scratch *scratch);

#endif
