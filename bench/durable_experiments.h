/* SPDX-License-Identifier: MIT */
#ifndef BENCH_DURABLE_EXPERIMENTS_H
#define BENCH_DURABLE_EXPERIMENTS_H

/*
 * The experiments of bench/durable measure what durability costs, and how long recovery takes. Each has a file of its
 * own.
 *
 *      commit         small transactions by 1 to 16 workers, against bare writes       durable_commit.c
 *      reader         a snapshot held during durable commits                           durable_reader.c
 *      checkpointer   commit latency while checkpoints run                             durable_checkpointer.c
 *      recovery       replay of a long log, and opening after a clean close            durable_recovery.c
 */

#include "bench/durable.h"

int durable_commit(struct durable *durable);
int durable_reader(struct durable *durable);
int durable_checkpointer(struct durable *durable);
int durable_recovery(struct durable *durable);

#endif
