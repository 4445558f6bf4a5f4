/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_REARRANGE_MEMORY_H
#define BENCH_PAPERS_RUMA_2016_REARRANGE_MEMORY_H

/*
 * Private anonymous memory, aligned to 2 MiB: in huge pages, as far as the kernel gives them, or surely in small ones;
 * touched before, or fresh. Fresh memory is memory that this machine has touched, but this process has not: what the
 * machine's host needs to provide it is no part of what is measured.
 */

#include <stdbool.h>
#include <stddef.h>

struct rearrange_memory {
        char *reserved;
        char *bytes; /* NULL: not open */
        size_t byte_len;
};

/* All end the program when there is no memory. */
void rearrange_memory_open(struct rearrange_memory *memory, size_t byte_len, bool is_huge);
/* Does nothing if it is not open. */
void rearrange_memory_close(struct rearrange_memory *memory);
void rearrange_memory_touch(const struct rearrange_memory *memory);
/* Touches so much and gives it back. */
void rearrange_memory_warm(size_t byte_len);

#endif
