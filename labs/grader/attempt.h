/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_ATTEMPT_H
#define LABS_GRADER_ATTEMPT_H

/*
 * One test, run in a process of its own. grader.c decides which; report.c says how it went.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "labs/grader/grader.h"

enum { ATTEMPT_SAID_BYTES = 4000 };

struct attempt {
        bool passed;
        double seconds;
        double measured;                  /* what it has called grader_measured() with */
        char said[ATTEMPT_SAID_BYTES];    /* why it has not passed; may have several lines */
        char printed[ATTEMPT_SAID_BYTES]; /* the end of what it wrote to stdout and stderr */
};

struct attempt_options {
        uint64_t seed;
        int seconds;  /* at most */
        bool is_loud; /* what it prints goes to the screen at once */
        uid_t user;   /* who runs the test and the answer; 0: who runs the grader */
        void (*clean)(void);
};

/* Fills *result. Returns 0 or -errno: the machine does not do what a test needs. */
int attempt_run(const struct grader_test *test, const struct attempt_options *options, struct attempt *result);

/* In this very process, without a limit, for a debugger. One that fails ends the process. */
int attempt_here(const struct grader_test *test, const struct attempt_options *options);

#endif
