/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_SNAPSHOTS_CREATION_H
#define BENCH_PAPERS_ANKER_SNAPSHOTS_CREATION_H

/*
 * The ways to create a snapshot of some columns. Each adds to the figures, for every round, how long the creation took;
 * how long with the first scan of one column, which is what a lazy way puts off; and what a write of a page costs after
 * it.
 */

#include "bench/papers/anker/snapshots/bench.h"

struct creation {
        int columns;
        uint64_t pages; /* of each */
        uint64_t rounds, seed;
};

struct creation_figures {
        struct samples create_us, with_scan_us, write_us;
        double mappings; /* that the columns and a snapshot of them take in a process */
        int err;         /* it could not be done */
};

/* In memory that an older snapshot had, or, fresh, that the kernel has to give. */
void creation_by_copy(const struct creation *creation, bool is_fresh, struct creation_figures *figures);

/* In a process of its own, which has nothing but the columns. Created: when the child runs and the parent goes on. */
void creation_by_fork(const struct creation *creation, struct creation_figures *figures);

/* `levels` numbers of pages that were changed in each column before, rising; and figures for each. */
void creation_by_rewiring(const struct creation *creation, int levels, const uint64_t *changed,
                          struct creation_figures *figures);

/* Another process changes so many pages of each column before every snapshot. */
void creation_by_snapshot(const struct creation *creation, uint64_t changed, struct creation_figures *figures);

/* ---- what they share ---- */

static inline uint64_t creation_all_pages(const struct creation *creation)
{
        return (uint64_t)creation->columns * creation->pages;
}

/* So many pages of each column are written after a snapshot, where that is not said. */
static inline uint64_t creation_written(const struct creation *creation)
{
        return bench_share(creation->pages, 500);
}

/* Fills columns that lie one behind the other. */
void creation_fill(const struct creation *creation, char *columns);
/* Ends the program if the sum of a column is not what it should be. */
void creation_check(const struct creation *creation, uint64_t changed, uint64_t sum);

#endif
