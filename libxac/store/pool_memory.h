/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_POOL_MEMORY_H
#define LIBXAC_STORE_POOL_MEMORY_H

/*
 * Which slots of the pool have memory, and how many may have some (R44, R46): the pool grows by pieces, up to a ceiling
 * that follows the control groups of those who share it, and gives memory back when it has more.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/participant.h"

/* Adds memory to the shared list: a piece of its own, while others add others. -ENOSPC: at the ceiling, or
 * the machine, or this process's control group, has no memory for it. */
int pool_grow(struct participant *self);
/* Should it grow now, so that nobody has to wait for memory that was never touched? */
bool pool_wants_growth(const struct shared *shared);

/* Lowers the ceiling to what this process's control group allows, and holds it there. Costs system calls. True: the
 * group may run short of memory soon, so it is to be done again in a moment. */
bool pool_heed_group(struct shared *shared);
/* Was it held long enough, and may it try again to grow to what it was made for (R44)? */
bool pool_may_rise(const struct shared *shared);
void pool_let_rise(struct shared *shared);
/* Do more slots have memory than the ceiling says? */
bool pool_is_too_large(const struct shared *shared);
/* Gives back the memory of free slots, until the pool is no longer too large, or writers need those that are left. */
void pool_shrink(struct participant *self);

/* Is there so little room that pages should go home? */
bool pool_is_nearly_full(const struct shared *shared);
/* Is there so little that whoever notices should see to it at once? */
bool pool_is_exhausted(const struct shared *shared);
/* After pages went home: half of the ceiling is wanted, so that writers have room while the rest goes home; or what
 * can be had. */
void pool_set_room_wanted(struct shared *shared);
/* How many slots there can be now: those that have memory, and those for which /dev/shm and the control group have
 * some. */
uint64_t pool_room(const struct shared *shared);

static inline bool pool_is_awaited(const struct shared *shared, uint32_t no)
{
        return slot_owner(&shared->slots[no]) == SLOT_NOBODY;
}

#endif
