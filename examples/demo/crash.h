/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CRASH_H
#define EXAMPLES_DEMO_CRASH_H

/* The machine goes down, as far as a demo can let it; and what must be true after it came up again. */

#include "examples/demo/acks.h"
#include "examples/demo/index.h"
#include "examples/demo/text.h"

/* Removes the shared memory of an environment that no process has open any more: what is not on
 * disk is lost with it. Says how much memory that was. 0 or -errno; -ENOENT if there was none. */
int crash_lose_memory(const char *directory, uint64_t *lost_bytes);

struct survival {
        uint64_t acknowledged;  /* words, before the crash */
        uint64_t recovered;     /* words in the index after it */
        uint64_t missing;       /* acknowledged, but not there */
        uint64_t unexplained;   /* there, beyond the one word that each worker had at hand */
        int is_table_identical; /* to one that counts just these words, serially, in ordinary memory */
};

/* Compares the index with what was acknowledged and with the text. 0 or a negative code. */
int crash_check(struct index *index, const struct acks *acks, struct text text, int workers,
                struct survival *survival);

#endif
