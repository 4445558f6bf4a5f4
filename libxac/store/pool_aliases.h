/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_POOL_ALIASES_H
#define LIBXAC_STORE_POOL_ALIASES_H

/*
 * Aliases: descriptors of versions that show another slot's content, or zeros (control.h). They are in a list of their
 * own when they are free. A slot whose own version is gone is kept while aliases show it (SHARES_KEPT).
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/shared.h"

/* Neither an alias nor shown by one: it goes back to the pool as it is. */
static inline bool pool_is_unshared(const struct shared *shared, uint32_t slot)
{
        return !shared_is_alias(shared, slot) &&
               !atomic_load_explicit(&shared->slots[slot].shares, memory_order_acquire);
}

/* An alias of a slot's content (0: of zeros), private to `owner`, who has that content in sight: a version that shows
 * it is visible to its snapshot. 0: there is none. */
uint32_t pool_share_locked(struct shared *shared, uint32_t owner, uint32_t content);
/* Slot or alias, its version is gone. */
void pool_free_locked(struct shared *shared, uint32_t slot);

/* An alias that is free. */
void pool_push_alias_locked(struct shared *shared, uint32_t no);
/* A slot that is kept for others; or, when the last of them has gone, free. */
void pool_settle_kept_locked(struct shared *shared, uint32_t no);
/* R7: aliases that are not free are the truth. */
void pool_recount_shares_locked(struct shared *shared);

#endif
