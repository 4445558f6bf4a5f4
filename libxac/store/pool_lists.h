/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_POOL_LISTS_H
#define LIBXAC_STORE_POOL_LISTS_H

/*
 * The shared ends of the lists of slots (slot_list.h), under the pool lock: of free slots, and of those that are held
 * because some snapshot still needs them.
 */

#include <stdint.h>

#include "libxac/ground/participant.h"

void pool_push_free_locked(struct shared *shared, uint32_t slot);
/* The first of the free slots, which is `owner`'s from then on. There must be one. */
uint32_t pool_pop_free_locked(struct shared *shared, uint32_t owner);
/* A slot that has become nobody's, as its memory is gone, or about to go, waits for some. */
void pool_count_awaited_locked(struct shared *shared, uint32_t slot);
/* Puts a retired slot where it waits until `snapshot` has ended. */
void pool_hold_locked(struct shared *shared, uint32_t slot, uint64_t snapshot);
/* The one that was put there last; 0: the list is empty. */
uint32_t pool_unhold_locked(struct shared *shared, struct held_list *list);

#endif
