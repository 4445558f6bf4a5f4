/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CRASH_H
#define EXAMPLES_DEMO_CRASH_H

/* The machine goes down, as far as a demo can let it; and what must be true after it came up again. */

#include "examples/demo/acks.h"

/* Removes the shared memory of an environment that no process has open any more: what is not on
 * disk is lost with it. Says how much memory that was. 0 or -errno; -ENOENT if there was none. */
int crash_lose_memory(const char *directory, uint64_t *lost_bytes);

/* In whatever the workers count. */
struct survival {
        uint64_t acknowledged; /* before the crash */
        uint64_t recovered;    /* there after it */
        uint64_t missing;      /* acknowledged, but not there */
        uint64_t unexplained;  /* there, beyond the one that each worker had at hand */
        int is_identical;      /* what is there is exactly what these make, done serially in ordinary memory */
};

/* Compares what each worker was told with what it has `done` as the data say; is_identical is left to others. */
void crash_compare(const struct acks *acks, const uint64_t done[WORKERS_MAX], int workers, struct survival *survival);

#endif
