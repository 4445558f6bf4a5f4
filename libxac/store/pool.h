/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_POOL_H
#define LIBXAC_STORE_POOL_H

/*
 * The version pool: slots of one page each, taken and given back in batches between a shared
 * list and each participant's own cache, so that the hot path touches nothing shared. The
 * slot given back last is taken first: it is still in the processor's cache.
 *
 * Lists are caches (R7): a slot's state and owner, stored before it enters a list, are the
 * truth. Whoever inherits the pool lock, or takes back a dead participant, rebuilds the lists
 * from them.
 *
 * Aliases come and go one by one, under the pool lock (pool_aliases.h). Which slots have memory is pool_memory.h's.
 * What deaths leave behind is put right by pool_rebuild.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/participant.h"

/* From the cache; 0 when it is empty. The slot is private to the participant. */
uint32_t pool_take(struct participant *self);
/* A private or retired slot of this participant; to the cache, unless others show its content. */
void pool_give_back(struct participant *self, uint32_t slot);
/* The same with a slot from a shared list, for who holds the pool lock; a cache that is full enough stays so. */
void pool_give_back_locked(struct participant *self, uint32_t slot);
/* So many slots move between the cache and shared lists at once. */
uint32_t pool_batch(const struct shared *shared);
/* Fills the cache from the shared list. False: the list is empty. */
bool pool_refill(struct participant *self);
/* Empties the cache. */
void pool_flush(struct participant *self);

/* The lock of the shared lists (pool_lists.h). Takes no lock but the pool's; see control.h for the order. */
void pool_lock(struct shared *shared, uint32_t owner);
void pool_unlock(struct shared *shared);

/* What every slot is doing. For statistics and audits; exact when nothing moves: free + private + published +
 * retired + kept == allocated + aliases. */
struct pool_census {
        uint64_t allocated; /* slots; of these */
        uint64_t free;
        uint64_t kept;    /* only for what aliases show */
        uint64_t aliases; /* that are not free */
        uint64_t private; /* slots and aliases */
        uint64_t published;
        uint64_t retired;
};
void pool_count(struct shared *shared, struct pool_census *census);
/* Slots that are not free: the same as allocated - free, without a look at any of them. */
uint64_t pool_used(const struct shared *shared);

#endif
