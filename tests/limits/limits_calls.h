/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIMITS_CALLS_H
#define TESTS_LIMITS_CALLS_H

/*
 * The calls of the table. Each returns 0 or the library's code, whatever the ground has become; it leaves nothing open
 * that it has opened itself.
 */

#include <stdbool.h>

#include "tests/limits/limits_ground.h"

enum calls_needs {
        CALLS_NOTHING, /* no environment is open, nor was one in this process */
        CALLS_ALL      /* all of the ground is open */
};

struct calls_call {
        const char *name;
        int (*make)(struct ground *ground);
        enum calls_needs needs;
        bool is_crashed; /* the environment is one whose only process was killed */
        bool ends;       /* the environment is closed then */
};

extern const struct calls_call calls_all[];
unsigned calls_count(void);

#endif
