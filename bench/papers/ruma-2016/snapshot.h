/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_SNAPSHOT_H
#define BENCH_PAPERS_RUMA_2016_SNAPSHOT_H

/*
 * An array of words is updated, and a snapshot of all of it is taken now and then, which lasts until the next one:
 *
 *      fork      a child process has the snapshot; the kernel copies pages that are written to
 *      copy      everything is copied, into memory that was touched before
 *      rewired   an area shows the snapshot; the program copies pages that are written to, and rewires them
 *
 * A run is one measurement of a way.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <xac/rewire.h>

#include "bench/papers/ruma-2016/rearrange_memory.h"
#include "bench/support/measure.h"

/* Where updates go, and what they add. */
struct snapshot_updates {
        uint64_t words;
        uint64_t state; /* of random numbers; 0: one word after the other */
        uint64_t at;
        uint64_t value;
        uint64_t sum; /* of the array: each word counts as much as its page's weight */
};

struct snapshot_rewired;
struct snapshot_way;

struct snapshot_run {
        const struct snapshot_way *way;
        uint64_t byte_len;
        struct snapshot_updates updates;
        struct rearrange_memory array, copy;
        pid_t child, leaving; /* 0: none */
        int to_child, from_child;
        struct snapshot_rewired *rewired;
};

/* Functions return 0 or a negative number: this way cannot do that (-EMLINK, ...). */
struct snapshot_way {
        const char *name;
        int (*open)(struct snapshot_run *run, uint64_t **words);
        int (*take)(struct snapshot_run *run); /* ends the former one */
        int (*update)(struct snapshot_run *run, uint64_t count);
        int (*read)(struct snapshot_run *run, uint64_t *sum); /* of the snapshot */
        void (*close)(struct snapshot_run *run);
        bool is_huge;        /* pages of 2 MiB */
        bool is_writer_kept; /* the copy is the snapshot's, else the writer's */
        uint32_t unit_bytes; /* that are copied at once */
};

extern const struct snapshot_way snapshot_ways[];

/* Of all words, times the weight of the page that they lie in: a page at another's place is noticed. */
uint64_t snapshot_sum(const uint64_t *words, uint64_t count);
/* Updates of words, of which nothing else needs to know. */
void snapshot_update_words(struct snapshot_updates *shared, uint64_t *words, uint64_t count);

static inline uint64_t snapshot_next(struct snapshot_updates *updates)
{
        if (updates->state)
                return (uint64_t)((unsigned __int128)measure_random(&updates->state) * updates->words >> 64);
        updates->at = updates->at + 1 == updates->words ? 0 : updates->at + 1;
        return updates->at;
}

enum { SNAPSHOT_PAGE_WORDS = 4096 / sizeof(uint64_t) };

static inline uint64_t snapshot_weight(uint64_t at)
{
        return 2 * (at / SNAPSHOT_PAGE_WORDS) + 1;
}

static inline void snapshot_add(struct snapshot_updates *updates, uint64_t *words, uint64_t at)
{
        updates->value += 7;
        updates->sum += updates->value * snapshot_weight(at);
        words[at] += updates->value;
}

int snapshot_fork_open(struct snapshot_run *run, uint64_t **words);
int snapshot_fork_take(struct snapshot_run *run);
int snapshot_fork_update(struct snapshot_run *run, uint64_t count);
int snapshot_fork_read(struct snapshot_run *run, uint64_t *sum);
void snapshot_fork_close(struct snapshot_run *run);

int snapshot_copy_open(struct snapshot_run *run, uint64_t **words);
int snapshot_copy_take(struct snapshot_run *run);
int snapshot_copy_update(struct snapshot_run *run, uint64_t count);
int snapshot_copy_read(struct snapshot_run *run, uint64_t *sum);
void snapshot_copy_close(struct snapshot_run *run);

int snapshot_rewired_open(struct snapshot_run *run, uint64_t **words);
int snapshot_rewired_take(struct snapshot_run *run);
int snapshot_rewired_update(struct snapshot_run *run, uint64_t count);
int snapshot_rewired_read(struct snapshot_run *run, uint64_t *sum);
void snapshot_rewired_close(struct snapshot_run *run);

#endif
