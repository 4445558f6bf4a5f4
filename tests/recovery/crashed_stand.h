/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CRASHED_STAND_H
#define TESTS_UNIT_CRASHED_STAND_H

/* One crashed environment (crashed.h) for a group of tests; each begins with its files as the crash left them. */

#include "tests/recovery/crashed.h"
#include "tests/support/leeway.h"

static int directory;
static struct crashed *crashed;
static struct crashed_files begin;

static inline int group_setup(void **state)
{
        directory = crashed_scratch(state);
        crashed = malloc(sizeof(*crashed));
        if (directory < 0 || !crashed)
                return -1;
        leeway_alarm(300);
        crashed_make(crashed, directory, chance_seed());
        crashed_files_keep(&begin, directory);
        return 0;
}

static inline int group_teardown(void **state)
{
        crashed_files_drop(&begin);
        free(crashed);
        scratch_remove(directory, state);
        return 0;
}

static inline int setup(void **state)
{
        (void)state;
        sys_fail = NULL;
        crashed_files_put_back(&begin, directory);
        return 0;
}

#endif
