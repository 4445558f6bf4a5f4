/* SPDX-License-Identifier: MIT */
#ifndef BENCH_XACBENCH_YCSB_H
#define BENCH_XACBENCH_YCSB_H

/*
 * The core workloads of YCSB, written from their definition (B. F. Cooper et al., "Benchmarking cloud serving systems
 * with YCSB", SoCC 2010): the store has plan->preload records, and a worker does each operation
 * as a transaction of its own.
 *
 *      a   half reads, half updates                     b   95 % reads, 5 % updates
 *      c   reads                                        d   95 % reads of the latest, 5 % inserts
 *      e   95 % scans of 1 to 100 records, 5 % inserts  f   half reads, half reads followed by an update
 *
 * Records are chosen by Zipf's law (theta 0.99), the popular ones lying anywhere (YCSB's "scrambled"); in d the newest
 * are the popular ones. An update writes the whole record.
 *
 * Which operations a worker does is drawn from its number alone, so that anybody can tell what it has inserted.
 */

#include "bench/xacbench.h"

enum { YCSB_INSERT_PERCENT = 5 /* of d and e */ };

void ycsb_a(struct worker *worker);
void ycsb_b(struct worker *worker);
void ycsb_c(struct worker *worker);
void ycsb_d(struct worker *worker);
void ycsb_e(struct worker *worker);
void ycsb_f(struct worker *worker);

/* How many records the worker has inserted after `operations` operations. Its first one is number plan->preload +
 * worker, and each further one is as many numbers later as the plan has workers. */
uint64_t ycsb_inserted(const struct plan *plan, int worker, uint64_t operations);

#endif
