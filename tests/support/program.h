/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_PROGRAM_H
#define TESTS_SUPPORT_PROGRAM_H

/*
 * A long test that is a program: what it takes from its command line, and a process of its own to run in, so that
 * whatever happens its scratch directory is removed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/crew.h"

/* One of the three is set. */
struct program_option {
        const char *name;
        uint64_t *number;
        const char **text;
        bool *flag;
};

/* Up to `known`'s entry without a name. Every program knows --seed (chance.h). Ends it where the command line is
 * wrong. */
void program_options(int argc, char **argv, const struct program_option *known);

/* Makes the scratch directory; writes lines at once. */
void program_begin(bool is_in_memory);
/* Runs body(0, arg) and removes the scratch directory: the program's exit status. Shared memory that was left behind is
 * a failure. */
int program_run(crew_body body, void *arg);

#endif
