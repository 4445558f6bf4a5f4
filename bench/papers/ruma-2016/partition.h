/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_PARTITION_H
#define BENCH_PAPERS_RUMA_2016_PARTITION_H

/*
 * Keys are partitioned by their highest bits, in several ways:
 *
 *      two passes  count, then put each key where it belongs
 *      chunks      one pass; each partition is a list of chunks, which are copied together or left so
 *      rewired     one pass; each partition is a list of pages, which an area shows one behind the other
 *
 * A run is one measurement of a way: prepare() gets memory, run() is what is measured, close() gives the memory back.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/rewire.h>

#include "bench/papers/ruma-2016/rearrange_memory.h"

struct grid;
struct rearrange;

struct partition_task {
        struct rearrange_memory memory;
        const uint64_t *keys;
        uint64_t count;
        uint32_t partitions; /* a power of 2 */
        int shift;           /* a key's partition: key >> shift */
};

/* Keys one behind the other: a partition, or a part of it. */
struct partition_piece {
        uint64_t *keys;
        uint64_t count;
        uint32_t partition;
};

struct partition_way;
struct partition_growth;

struct partition_run {
        const struct partition_task *task;
        const struct partition_way *way;
        struct partition_piece *pieces; /* the result, in the order of partitions */
        uint64_t piece_count;
        struct rearrange_memory output;
        struct rearrange_memory chunks;
        xac_rewire_pool *pool;
        xac_rewire_area *area;
        struct partition_growth *growth;
};

/* How far the partitions lie apart. */
enum partition_gaps { PARTITION_GAPLESS, PARTITION_PAGE_ALIGNED, PARTITION_IN_PIECES };

struct partition_way {
        const char *name;
        /* Negative: this way cannot do that (-ENOSPC, -EMLINK, ...). */
        int (*prepare)(struct partition_run *run);
        int (*run)(struct partition_run *run);
        enum partition_gaps gaps;
        bool is_stable;      /* keeps the order of the input within a partition */
        bool is_huge;        /* pages of 2 MiB */
        bool is_collapsed;   /* small pages that the kernel has put together to huge ones where the pool shows them */
        bool is_fresh;       /* into memory that was not touched before */
        bool is_buffered;    /* lines are written around the cache (partition_line.h) */
        uint32_t unit_bytes; /* partitions grow by so much */
};

extern const struct partition_way partition_ways[];
/* Ends the program (2) if there is none. */
const struct partition_way *partition_way_of(const char *name);
/* What "automatic" is for this task, else the way itself. */
const struct partition_way *partition_way_for(const struct partition_way *way, const struct partition_task *task);

void partition_task_open(struct partition_task *task, uint64_t count, uint64_t seed);
void partition_task_close(struct partition_task *task);
void partition_task_divide(struct partition_task *task, uint32_t partitions);

/* Prepares, runs, and says how long that took. The run is to be closed, whatever this returns. */
int partition_measure(struct partition_run *run, const struct partition_way *way, const struct partition_task *task,
                      double *ms);
void partition_run_close(struct partition_run *run);
/* Ends the program when the result is wrong. is_sorted: each partition was sorted since. */
void partition_check(const struct partition_run *run, bool is_sorted);
/* Rows are ways (NULL: all). Ends the program (2) when the options are not understood. */
void partition_grid_make(struct grid *grid, const struct rearrange *rearrange, const char *ways,
                         const char *partitions);

/* For ways: the pieces, and one more of them. */
void partition_run_set_room(struct partition_run *run, uint64_t pieces);
static inline void partition_run_add(struct partition_run *run, void *keys, uint64_t count, uint32_t partition)
{
        run->pieces[run->piece_count++] = (struct partition_piece){ keys, count, partition };
}

int two_passes_prepare(struct partition_run *run);
int two_passes_run(struct partition_run *run);
int chunks_prepare(struct partition_run *run);
int chunks_run(struct partition_run *run);
int rewired_prepare(struct partition_run *run);
int rewired_run(struct partition_run *run);

#endif
