/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VERSION_MOVES_H
#define LIBXAC_VERSION_MOVES_H

/*
 * Which pages were moved from which since the checkpoint's base, by records of the log: what a checkpoint in batches
 * must know (CP1, recovery/batches.h). They stand in shared memory, in the order of commits. There is room for
 * MOVES_MAX; when it is nearly full a checkpoint is wanted, and when some did not fit, the next checkpoint goes home in
 * one batch.
 */

#include <stdbool.h>

#include "libxac/ground/shared.h"

/* Before the commit lock. There may be none: then it is as if some did not fit. */
void moves_give_memory(const struct shared *shared);
/* Caller holds the commit lock, and has not decided yet: what is noted of a commit that never comes does no harm. */
void moves_note_locked(struct shared *shared, uint64_t sequence, const struct vector *moves);

/* The moves of commits up to `until`; caller holds the checkpoint lock. 0; -EOVERFLOW: some are not known; -ENOMEM. */
int moves_read(struct shared *shared, uint64_t until, struct vector *moves);
/* The base is there: forgets them. */
void moves_forget(struct shared *shared, uint64_t until);

bool moves_are_many(const struct shared *shared);

#endif
