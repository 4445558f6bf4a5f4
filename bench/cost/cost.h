/* SPDX-License-Identifier: MIT */
#ifndef BENCH_COST_COST_H
#define BENCH_COST_COST_H

/*
 * Loops whose instructions are counted (`make cost`, docs/COST.md): each has its own environment, volatile and used by
 * this process alone. A loop is first run to warm up, and then once more within cost_measured(), the only function
 * within which callgrind collects. So what is counted is the loop itself, with everything that it calls.
 *
 * In the program no thread is made: the library's background thread would now and then do something that else falls to
 * the loop. Without that thread it always falls to the loop. And time stands still: every 100 ms a commit looks whether
 * somebody has died, which would fall into some runs and not into others.
 */

#include <xac/heap.h>
#include <xac/tree.h>

#include "bench/support/measure.h"
#include "bench/support/scratch.h"

struct cost_load {
        struct scratch scratch;
        uint64_t next; /* key of the trees: how many were used so far */
        xac_arena *arena;
        xac_tree *tree;
        xac_tree *table;
        xac_heap *heap;
        void (*close)(struct cost_load *load); /* what was prepared in the environment; NULL: nothing */
};

struct cost_loop {
        const char *name;
        uint64_t times;                          /* of what is counted, in one run */
        void (*prepare)(struct cost_load *load); /* NULL: nothing is to be prepared */
        void (*run)(struct cost_load *load, uint64_t times);
};

struct cost_loops {
        const struct cost_loop *loop;
        size_t count;
};

/* Each kind adds its own. */
extern const struct cost_loops cost_transactions, cost_trees, cost_heap, cost_compiled;

/* By this name callgrind knows where to collect: so it is not static, as that one may get another name. */
void cost_measured(const struct cost_loop *loop, struct cost_load *load);

/* `kinds` ends with NULL. */
int cost_main(int argc, char **argv, const struct cost_loops *const *kinds);

#endif
