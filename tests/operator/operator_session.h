/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_SESSION_H
#define TESTS_OPERATOR_OPERATOR_SESSION_H

/*
 * A program that uses the environment: it opens it, finds out how far the history is, commits what comes next, and ends
 * in one of several ways. What it has done is in memory that outlives it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/operator/operator_history.h"

/* Of commit k, the last time that it was made. Times are those of the clock of the program that made it. */
struct session_commit {
        uint64_t sequence;
        uint64_t begun_ns;
        uint64_t durable_ns; /* by when it was logged for sure; UINT64_MAX: not known */
};

struct session_record {
        _Atomic uint32_t begun;     /* the newest commit that was tried */
        _Atomic uint32_t committed; /* whose xend() has returned */
        _Atomic uint32_t durable;   /* ... and that was waited for, or a later one */
        _Atomic uint32_t pages[HISTORY_FILES];
        struct session_commit commit[HISTORY_COMMITS + 1];
};

enum session_end { SESSION_CLOSES, SESSION_IS_KILLED, SESSION_DIES_WRITING };

struct session {
        const struct history *history;
        struct session_record *record;
        const char *store, *archive; /* archive: NULL: without */
        uint32_t commits;            /* 0: it is opened and closed */
        enum session_end end;
        uint32_t changes; /* of the disk, from the last commit on, before it dies */
        uint64_t area_bytes;
        unsigned checkpoint_percent; /* after a commit */
        int64_t ahead_s;             /* of its clock */
        uint64_t seed;
};

/* In a process of its own, which is waited for. The first line that it wrote to standard error is in `line`, empty if
 * there was none; the exit status is 0, or 1 where an open was refused, with the code in *code; a signal is told as 128
 * + number. */
int session_run(const struct session *session, int *code, char *line, size_t line_len);
/* The same without waiting: it leaves its end to the caller. */
pid_t session_start(const struct session *session);

/* A time as programs see it whose clock is ahead. */
uint64_t session_clock_ns(int64_t ahead_s);

#endif
