/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FAILURE_INJECT_H
#define TESTS_FAILURE_INJECT_H

/*
 * Failures by number: the k-th system call that base/sys makes, or the k-th allocation, does not
 * happen but gives an error; once, or from then on for all calls of its kind.
 *
 * Only calls of the thread that armed it are counted, so that the number means the same call
 * each time, whatever other threads do.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

/* Kinds of calls: enum sys_call, and this. Programs that link with --wrap=malloc and
 * --wrap=calloc count these too. */
enum { INJECT_MALLOC = SYS_CALL_KINDS, INJECT_KINDS };

enum inject_mode { INJECT_ONCE, INJECT_FOR_GOOD };

struct inject_plan {
        int nth;  /* 1 and up; 0: nothing fails, the calls are only counted */
        int with; /* -errno */
        enum inject_mode mode;
};

void inject_start(const struct inject_plan *wanted);
/* Returns how many calls there were. */
int inject_stop(void);

/* A storm: every call of any thread, but those on memory and locks, fails with that probability and one of its
 * plausible errors. 0: it is over. */
void inject_storm(uint64_t seed, unsigned permille);

/* How many calls of this kind have failed so far. */
int inject_failed(int kind);

/* After inject_stop: the kind of the i-th call (from 1), INJECT_LIST_MAX of them at most. */
enum { INJECT_LIST_MAX = 65536 };
int inject_kind_of(int i);
/* The errors that a call of this kind may plausibly give; the list ends with 0. */
const int *inject_errors(int kind);
const char *inject_kind_name(int kind);

#endif
