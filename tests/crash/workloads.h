/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_WORKLOADS_H
#define TESTS_CRASH_WORKLOADS_H

/*
 * The workloads that are recorded, and how they are run: processes and threads that make the commits of
 * a world, and tell the trace what they were promised.
 */

#include <xac/xac.h>

#include "tests/crash/world.h"
#include "tests/heap/deeds.h"
#include "tests/trees/deeds.h"

/* By number, NULL behind the last; by name, NULL if there is none. */
const struct workload *workload_get(unsigned i);
const struct workload *workload_find(const char *name);

xac_options workload_options(const struct workload *workload, const char *directory);

/* An environment as one thread sees it. */
struct seat_of_world {
        const struct world *world;
        xac_env *env;
        unsigned char *views[WORLD_FILES];
        unsigned pages[WORLD_FILES]; /* mapped */
        struct deeds deeds;          /* is_tree */
        struct deeds_desk desk;
        struct heap_deeds heap_deeds; /* is_heap */
        struct heap_desk heap_desk;
};

/* Maps everything that commit k of the lane needs. 0 or -errno. */
int workload_map(struct seat_of_world *seat, unsigned lane, uint64_t k, struct trace *trace);
/* At the end; only trees and heaps need it. */
int workload_leave(struct seat_of_world *seat);
/* Makes the next commit of the lane: its number in *k, 0 if there are none left. `trace` may be NULL.
 * The library's result. */
int workload_commit(struct seat_of_world *seat, unsigned lane, uint64_t most, int flags, struct trace *trace,
                    uint64_t *k);

/* In a transaction: the number of the lane's newest commit. False: it cannot be read. */
bool workload_counter(struct seat_of_world *seat, unsigned lane, uint64_t *counter);

/* The same where the commits are deeds (workload_tree.c). */
int workload_tree_open(struct seat_of_world *seat);
int workload_tree_commit(struct seat_of_world *seat, unsigned lane, uint64_t most, int flags, struct trace *trace,
                         uint64_t *k);

/* And where they are deeds on a heap (workload_heap.c). */
int workload_heap_open(struct seat_of_world *seat);
int workload_heap_commit(struct seat_of_world *seat, unsigned lane, uint64_t most, int flags, struct trace *trace,
                         uint64_t *k);

/* What processes that were killed left of an environment that is not there any more. */
void workload_remove_shared_memory(const char *directory);

/* Runs the workload in an empty directory and records it, from the creation to the last close. */
void workload_record(const struct world *world, const char *directory, struct trace *trace);

#endif
