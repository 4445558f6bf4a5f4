/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_CHECKPOINT_DUE_H
#define LIBXAC_TXN_CHECKPOINT_DUE_H

/* When a checkpoint (checkpoint.h) is to be run, and by whom: what commits ask after each of them. */

#include <stdbool.h>

#include "libxac/ground/shared.h"

/* Is it time for one, in a durable environment? */
bool checkpoint_is_wanted(const struct shared *shared);
/* Should a committer run one itself? Before it comes to that, a background thread is asked to (duty.c). */
bool checkpoint_is_due(struct shared *shared);
/* How much log must be read after a crash. */
uint64_t checkpoint_log_used(const struct shared *shared);

#endif
