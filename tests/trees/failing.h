/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_FAILING_H
#define TESTS_TREES_FAILING_H

/*
 * Failures by number, as in tests/failure/inject.h, for programs that use trees: besides the library's system calls and
 * all allocations, what trees themselves ask of the kernel for a plain arena. Programs link with --wrap for each.
 *
 * Only calls of the thread that armed it are counted.
 */

#include <stdbool.h>

struct failing_plan {
        int nth;         /* 1 and up; 0: nothing fails, the calls are only counted */
        int with;        /* -errno */
        bool is_lasting; /* so do the next calls of its kind: many, but not for ever, as the log waits for room on the
                            disk */
};

/* Armed, but paused. */
void failing_start(const struct failing_plan *wanted);
void failing_go_on(void);
void failing_pause(void);
/* Nothing fails any more. Returns how many calls there were. */
int failing_stop(void);

/* After failing_stop: the kind of the i-th call (from 1), FAILING_MAX of them at most; how it is called; and errors
 * that it may plausibly give, up to a 0. */
enum { FAILING_MAX = 16384 };
int failing_kind(int i);
const char *failing_name(int kind);
const int *failing_errors(int kind);

#endif
