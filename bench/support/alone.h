/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_ALONE_H
#define BENCH_SUPPORT_ALONE_H

/*
 * A measurement in a process of its own: its memory is fresh from the kernel, its mappings are few, and nothing of it
 * is left for the next one. It stays on one processor.
 */

#include <stdint.h>

/* Runs `work` on memory that it shares with the caller (memory_share), and waits. Ends the program if it fails. */
void alone_run(void (*work)(void *shared), void *shared);
/* The same on all processors, for work that has threads or that waits for one: it pins what it wants pinned. */
void alone_run_free(void (*work)(void *shared), void *shared);

/* Touches so much memory in huge pages and gives it back. What no process has touched for a while may have to be asked
 * back from the host of a virtual machine: that is no part of what is measured. */
void alone_warm(uint64_t byte_len);

/* Ends the program, and so fails the benchmark, if two numbers that must agree do not. */
void alone_check(const char *what, uint64_t is, uint64_t should_be);

#endif
