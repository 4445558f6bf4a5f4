/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_VIEW_STAND_H
#define TESTS_UNIT_VIEW_STAND_H

/* For each test a stage of its own (stage.h), the transaction of participant 0 and its view. */

#include "tests/libxac/stage.h"

static struct stage *stage;
static struct txn *txn;
static struct view *view;

static inline int setup_with(uint32_t pool_slots, int env_flags)
{
        stage = stage_start(pool_slots, env_flags);
        txn = &stage->txn[0];
        view = stage_map(stage, 0);
        return 0;
}

static inline int teardown(void **state)
{
        (void)state;
        stage_stop(stage);
        return 0;
}

static inline void audit(void)
{
        stage_audit(stage, txn, view);
}

#endif
