/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_REARRANGE_H
#define BENCH_PAPERS_RUMA_2016_REARRANGE_H

/*
 * Rewired memory where data are rearranged: partitions that grow by pages, what is sorted in them, and snapshots.
 * The experiments are those of section 5 of F. M. Schuhknecht, J. Dittrich and A. Sharma: "RUMA has it: Rewired
 * User-space Memory Access is Possible!", PVLDB 9(10), 2016; what differs is said where it does.
 *
 * Every result is checked, outside of the time that is measured; a wrong one ends the program.
 */

#include <stdint.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"

struct rearrange {
        uint64_t keys;
        const char *partitions; /* NULL: what the experiment is made for */
        const char *ways;       /* NULL: all */
        uint64_t bytes;         /* of the array of which snapshots are taken */
        const char *updates;    /* between two snapshots */
        uint64_t snapshots;
        uint64_t rounds;
        uint64_t seed;
        struct csv *csv; /* NULL: not wanted */
};

void partition_experiment(const struct rearrange *rearrange);
void sort_experiment(const struct rearrange *rearrange);
void snapshot_experiment(const struct rearrange *rearrange);

#endif
