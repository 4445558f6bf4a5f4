/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VERSION_DIRTY_H
#define LIBXAC_VERSION_DIRTY_H

/*
 * Lists of slots in the order of their pages: what goes home, what goes into the double-write buffer. Their
 * memory is mappings of their own, as a checkpoint may run in the fault handler.
 */

#include <stdint.h>

#include "base/vector.h"
#include "libxac/ground/shared.h"

struct dirty {
        struct vector slots; /* of uint32_t */
        struct shared *shared;
};

static inline uint32_t dirty_slot(const struct dirty *dirty, uint32_t i)
{
        return ((const uint32_t *)dirty->slots.items)[i];
}

static inline uint64_t dirty_page(const struct dirty *dirty, uint32_t i)
{
        return atomic_load_explicit(&dirty->shared->slots[dirty_slot(dirty, i)].page, memory_order_relaxed);
}

/* Adds each slot for which `is_wanted` says 1; it may also say 0, or an error, which ends it. */
int dirty_collect(struct dirty *dirty, int (*is_wanted)(void *arg, uint32_t slot), void *arg);
int dirty_add(struct dirty *dirty, uint32_t slot);
void dirty_sort(struct dirty *dirty);
void dirty_free(struct dirty *dirty);

#endif
