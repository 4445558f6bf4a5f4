/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_DIRECTORY_H
#define TESTS_UNIT_DIRECTORY_H

/* One scratch directory for a group of tests, empty when each of them begins. */

#include "tests/base/scratch.h"

static int directory;

static inline int directory_setup(void **state)
{
        directory = scratch_make(state);
        return directory < 0;
}

static inline int directory_teardown(void **state)
{
        scratch_remove(directory, state);
        return 0;
}

static inline int directory_empty(void **state)
{
        (void)state;
        sys_fail = NULL;
        scratch_empty(directory);
        return 0;
}

#endif
