/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIMITS_CELL_H
#define TESTS_LIMITS_CELL_H

/*
 * A cell of the table: one call under one limit, in processes and namespaces of its own.
 *
 *      stage    root: the disk, /dev/shm, the limits that only root can set
 *      caller   the user: opens all, sets the limit, calls, lifts it, calls again, looks at what it has, closes
 *      prover   the user, without a limit: opens the environment, and looks at what is in it
 */

#include "tests/limits/limits_calls.h"
#include "tests/limits/limits_kinds.h"

struct cell_result {
        int code;
        int signal;        /* that has ended the caller, where that is known */
        char trouble[240]; /* empty: all is as it should be */
        bool is_skipped;
};

void cell_run(const struct kinds_limit *limit, const struct calls_call *call, struct cell_result *result);

#endif
