/* SPDX-License-Identifier: MIT */
#ifndef BENCH_XACBENCH_ORDER_H
#define BENCH_XACBENCH_ORDER_H

/*
 * Which records a worker works on, in which order: record numbers, made before the time begins to run, so that making
 * them costs nothing. Everybody can make everybody's.
 *
 *      new       records that are not there yet, `first` and on: each belongs to one worker, which takes every
 *                workers-th. Zipf: any of them, the popular ones again and again
 *      chosen    records that are there, below `first`, at random by the distribution; ascending: one after the other
 *      own       records that are there: each once, and belongs to one worker
 *      sorted    new ones in the order of their keys
 *
 * Zipf is YCSB's (theta 0.99): J. Gray et al., "Quickly generating billion-record synthetic databases", 1994. The n-th
 * most popular record is number n, and lies anywhere, as its key is mixed.
 */

#include "bench/xacbench_records.h"

enum order_distribution { ORDER_UNIFORM, ORDER_ZIPF, ORDER_ASCENDING };
enum order_kind { ORDER_NEW, ORDER_CHOSEN, ORDER_OWN, ORDER_SORTED };

struct order_spec {
        enum order_kind kind;
        enum order_distribution distribution;
        uint64_t first; /* new records begin here: so many are there */
        uint64_t count; /* for all workers together */
        int worker, workers;
};

struct order {
        uint64_t count;
        uint32_t *numbers;
};

enum { ORDER_RECORDS_MAX = 4000000000 };

/* How many of `count` fall to this worker. */
uint64_t order_share(uint64_t count, int worker, int workers);

void order_make(struct order *order, const struct order_spec *spec, const struct record_shape *shape);
void order_free(struct order *order);

#endif
