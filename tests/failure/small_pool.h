/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FAILURE_SMALL_POOL_H
#define TESTS_FAILURE_SMALL_POOL_H

/* The environment of world.h with a pool that has room for a part of the first file only. */

#include "tests/failure/world.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { SMALL_POOL = 128, MANY = 768 /* pages */ };

static inline void open_small_pool(int way)
{
        const xac_options options = { .pool_bytes = SMALL_POOL * 4096 };

        world.is_declared = way & WAY_DECLARED;
        check_ok(world_open(XAC_CREATE | (way & WAY_TRACK ? XAC_TRACK : 0), &options));
        check_ok(world_map(0, MANY));
        check_ok(world_map(1, WORLD_USUAL_PAGES));
}

/* One transaction. */
static inline int write_many(uint32_t count)
{
        check_ok(world_begin(0));
        for (uint32_t page = 0; page < count; page++)
                world_put(0, page);
        return world_end();
}

#endif
