/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_CRASH_H
#define TESTS_SUPPORT_CRASH_H

/*
 * Runs something that is expected to crash in a process of its own, and keeps what it said.
 */

#include "tests/support/crew.h"

struct crash {
        int signal; /* that ended it; 0: it ended by itself */
        int status;
        char said[4096]; /* on stderr, NUL-terminated */
};

void crash_run(crew_body body, int index, void *arg, struct crash *crash);
/* Lines of `said`. */
int crash_lines(const struct crash *crash);

#endif
