/* SPDX-License-Identifier: MIT */
#ifndef TESTS_KILL_TRACE_H
#define TESTS_KILL_TRACE_H

/*
 * Running a child instruction by instruction (ptrace), and stopping one before a chosen
 * instruction of what an earlier one ran through.
 *
 * A single step costs tens of microseconds and a region has thousands, so stepping from its
 * beginning for each place would be quadratic. Instead the path is recorded once; to get to
 * instruction k a breakpoint is put on the nearest one before it that is cheap to reach, and
 * only the rest is stepped. A breakpoint that is not reached as often as it was in the record
 * (the child went another way) is answered by stepping all the way.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_path {
        uint64_t *pc;    /* of each instruction, in order */
        uint32_t *visit; /* how often it had been visited by then, itself included */
        uint32_t count;
};

enum trace_stop {
        TRACE_THERE,  /* it stands before the instruction asked for */
        TRACE_MARKER, /* it has raised SIGSTOP: the region's end came first */
        TRACE_ENDED
};

/* In the child: lets the parent trace it. False: not permitted here. */
bool trace_me(void);
/* Waits until the child raises SIGSTOP; lets it go on to the next. False: it has ended. */
bool trace_await_marker(pid_t child, int *status);
bool trace_to_marker(pid_t child, int *status);

/* From a marker to the next, step by step. */
void trace_record(pid_t child, struct trace_path *path);
void trace_free(struct trace_path *path);
/* From a marker to before instruction k of the path, the cheap way or step by step. */
enum trace_stop trace_go_to(pid_t child, const struct trace_path *path, uint32_t k);
enum trace_stop trace_step_to(pid_t child, uint32_t k);

#endif
