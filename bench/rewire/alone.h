/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REWIRE_ALONE_H
#define BENCH_REWIRE_ALONE_H

/*
 * A measurement in a process of its own: its memory is fresh from the kernel, its mappings are few, and nothing of it
 * is left for the next one. It stays on one processor.
 */

#include <stdint.h>

/* Runs `work` on memory that it shares with the caller (memory_share), and waits. Ends the program if it fails. */
void alone_run(void (*work)(void *shared), void *shared);

/* Ends the program, and so fails the benchmark, if two numbers that must agree do not. */
void alone_check(const char *what, uint64_t is, uint64_t should_be);

#endif
