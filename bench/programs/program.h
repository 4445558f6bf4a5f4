/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PROGRAMS_PROGRAM_H
#define BENCH_PROGRAMS_PROGRAM_H

/*
 * A program that nobody here wrote, behind three functions. What it works on lies in memory that it was given, and
 * always at the same place. Its source is compiled in several ways (run) and knows nothing of them. They return 0, or
 * -1.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct program {
        size_t byte_len;
        int (*make)(void *memory, size_t byte_len);
        /* The n-th of them: 0, 1, 2 ... What it comes to is added to *sum, the same in each way. */
        int (*operate)(void *memory, uint64_t number, uint64_t *sum);
        /* After so many operations: whether everything is there. */
        int (*check)(void *memory, uint64_t operations, uint64_t *sum);
};

extern const struct program program;

/* One for each number, the same each time (splitmix64, S. Vigna, 2015). */
static inline uint64_t program_random(uint64_t number)
{
        uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

#ifdef __cplusplus
}
#endif

#endif
