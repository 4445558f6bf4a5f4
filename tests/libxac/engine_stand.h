/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_ENGINE_STAND_H
#define TESTS_UNIT_ENGINE_STAND_H

/* An engine of its own (engine.h) for each test. */

#include "tests/libxac/engine.h"

static struct engine *engine;

/* With a pool of 512 slots. */
static inline int setup(void **state)
{
        (void)state;
        engine = engine_start(512);
        return 0;
}

static inline int setup_roomy(void **state)
{
        (void)state;
        engine = engine_start(1024);
        return 0;
}

static inline int teardown(void **state)
{
        (void)state;
        engine_stop(engine);
        return 0;
}

#endif
