/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_REWIRE_H
#define BENCH_PAPERS_RUMA_2016_REWIRE_H

/*
 * What rewired memory costs, and what it saves (include/xac/rewire.h): a vector that grows without copying beside
 * others, and the micro-benchmarks of F. M. Schuhknecht, J. Dittrich and A. Sharma: "RUMA has it: Rewired User-space
 * Memory Access is Possible!", PVLDB 9(10), 2016, sections 4.3 to 4.6 and 5.1. Their figures stand beside ours, as
 * "paper".
 *
 * Everything that is measured runs in a process of its own (alone.h). In each round all systems take turns.
 */

#include <stdbool.h>
#include <stdint.h>

struct rewire_bench {
        uint64_t entries, batch, reads; /* vector */
        uint64_t bytes;                 /* the others */
        uint64_t rounds, seed;
        const char *tsv;         /* a folder, or NULL */
        const char *std_library; /* what `run` makes of vector_std.cc, or NULL */
};

void vector_run(const struct rewire_bench *bench);
void allocation_run(const struct rewire_bench *bench);
void faults_run(const struct rewire_bench *bench);
void shuffle_run(const struct rewire_bench *bench);
void patterns_run(const struct rewire_bench *bench);

#endif
