/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_MEMORY_H
#define BENCH_SUPPORT_MEMORY_H

/*
 * Memory, and the scan: the sum of all words, by some threads, each of which has a part of its own.
 */

#include <stddef.h>
#include <stdint.h>

enum { SMALL_PAGE = 4096, HUGE_PAGE = 2 << 20 };

/* Private, anonymous, written once. All end the program when there is no memory. */
char *memory_make(size_t byte_len);
/* In huge pages, as far as the kernel gives them. */
char *memory_make_huge(size_t byte_len);
/* Private, anonymous, untouched. */
char *memory_reserve(size_t byte_len);
/* For results of other processes: shared with those that are forked later. */
void *memory_share(size_t byte_len);
void memory_free(void *memory, size_t byte_len);

/* Memory that no process has touched since the machine started, or that its host has taken back, is slow at first: so
 * that this is no part of what is measured, as much is touched and given back. */
void memory_warm(size_t byte_len);

/* Mappings of this process. */
uint64_t memory_mappings(void);

uint64_t memory_sum(const char *bytes, size_t byte_len);
uint64_t memory_sum_by(int threads, const char *bytes, size_t byte_len);

#endif
