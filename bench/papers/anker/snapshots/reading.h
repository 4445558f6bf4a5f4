/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_SNAPSHOTS_READING_H
#define BENCH_PAPERS_ANKER_SNAPSHOTS_READING_H

/*
 * Reading a column as of one commit, in one of two ways: a read-only transaction in a view, or a snapshot, for several
 * threads. A snapshot is refreshed, and the older one closed when the newer has been read.
 *
 * One round: pages change, a scan of plain memory, begin, the first scan, the second scan, end, a scan of plain memory.
 */

#include "bench/papers/anker/snapshots/columns.h"

struct reading {
        struct columns *columns;
        const char *plain; /* as long as a column */
        int threads;
        bool is_view;
        xac_snapshot *snapshot, *older; /* NULL: none yet */
};

struct reading_round {
        double begin_us, first_us, second_us, end_us;
        double plain_us;  /* of the scans before and behind, the mean */
        double change_us; /* of a page, by the other process */
        double mappings;
};

/* In an environment that this process has opened. */
void reading_round(struct reading *reading, uint64_t pages, struct reading_round *round);
void reading_stop(struct reading *reading);

/* The figures of several rounds. */
struct reading_samples {
        struct samples begin_us, first_us, second_us, end_us, plain_us, change_us, mappings;
        struct samples first_ratio, second_ratio;
};

void reading_samples_add(struct reading_samples *samples, const struct reading_round *round);
void reading_samples_free(struct reading_samples *samples);

#endif
