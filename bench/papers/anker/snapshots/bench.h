/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_SNAPSHOTS_BENCH_H
#define BENCH_PAPERS_ANKER_SNAPSHOTS_BENCH_H

/*
 * What snapshots cost: those who create them, those who read them, and those who write meanwhile. Creation and the
 * series after each write repeat table 1 and figure 5 of the AnKerDB paper (A. Sharma, F. M. Schuhknecht, J. Dittrich:
 * "Accelerating Analytical Processing in MVCC using Fine-Granular High-Frequency Virtual Snapshotting", 2017).
 *
 * Columns are data files of 8-byte words (columns.h). Every sum that is measured is checked.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bench/support/measure.h"

enum { PAGE = 4096 };

struct bench {
        uint64_t column_mb; /* of one column */
        uint64_t many_mb;   /* of 25 or 50 columns, together */
        uint64_t rounds;
        uint64_t points;
        uint64_t phase_ms;
        uint64_t records;
        uint64_t seed;
        const char *tsv; /* a folder, or NULL */
        int failures;    /* figures that are not what they should be */
};

static inline uint64_t bench_column_pages(const struct bench *bench)
{
        return (bench->column_mb << 20) / PAGE;
}

/* This share of the pages of a column that the paper's 200 MB have: 51,200. */
static inline uint64_t bench_share(uint64_t pages, uint64_t of_51200)
{
        return pages * of_51200 / 51200;
}

void creation_run(struct bench *bench);
void series_run(struct bench *bench);
void scans_run(struct bench *bench);
void percents_run(struct bench *bench);
void writers_run(struct bench *bench);

#endif
