/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_LIBXAC_2005_THESIS_DURABLE_H
#define BENCH_PAPERS_LIBXAC_2005_THESIS_DURABLE_H

/*
 * The thesis' experiments with durable transactions, each in a file of its own.
 *
 *      touch         n pages written in a transaction                    durable_touch.c
 *      concurrency   tests A, B and C by one and two processes           durable_concurrency.c
 *      msync         table 4.8: msync and fsync                          durable_msync.c
 */

#include "bench/durable.h"

int durable_touch(struct durable *durable);
int durable_concurrency(struct durable *durable);
int durable_msync(struct durable *durable);

#endif
