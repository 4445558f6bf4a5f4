/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_POOL_REBUILD_H
#define LIBXAC_STORE_POOL_REBUILD_H

/*
 * The pool's lists made again from the descriptors (R7), and what the dead had in it.
 */

#include <stdint.h>

#include "libxac/ground/shared.h"

/* For who inherits the pool lock. */
void pool_rebuild_locked(struct shared *shared);
/* Takes back every slot that a dead participant owned. */
void pool_take_back_locked(struct shared *shared, uint32_t dead_owner);

#endif
