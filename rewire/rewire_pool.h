/* SPDX-License-Identifier: MIT */
#ifndef REWIRE_REWIRE_POOL_H
#define REWIRE_REWIRE_POOL_H

/* What areas know of a pool (rewire.h). */

#include <xac/rewire.h>

#include "rewire/memory.h"

const struct memory *xac_rewire_pool_memory(const xac_rewire_pool *pool);
uint64_t xac_rewire_pool_max_pages(const xac_rewire_pool *pool);
/* An area more, or less. */
void xac_rewire_pool_count_area(xac_rewire_pool *pool, int more);

#endif
