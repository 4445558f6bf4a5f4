/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_LITTLE_MEMORY_H
#define BENCH_SUPPORT_LITTLE_MEMORY_H

/*
 * A control group whose processes may have no more memory than that, page cache included: so a file that is larger than
 * the memory need not be larger than the machine's. Needs the right to make one (usually root's), beside the group that
 * this process is in.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct little_memory {
        char path[PATH_MAX];
};

/* False: that is not permitted here, or done in another way. */
bool little_memory_make(struct little_memory *memory, uint64_t bytes);
/* This process is a member from now on. 0 or -errno. */
int little_memory_enter(const struct little_memory *memory);
/* Once all members have ended. */
void little_memory_remove(const struct little_memory *memory);

#endif
