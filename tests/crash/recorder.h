/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_RECORDER_H
#define TESTS_CRASH_RECORDER_H

/*
 * Listens to base/sys (sys_record) and writes down, in a trace, what happens to the files of
 * one directory. Children forked while it listens listen too.
 */

#include "tests/crash/trace.h"

void recorder_start(struct trace *trace, const char *directory);
void recorder_stop(void);

/* Kills this process (SIGKILL) while it is in no call that changes names or sizes: the trace would not know whether
 * such a call took place. Writes and syncs may be cut off anywhere. */
void recorder_die(void);

#endif
