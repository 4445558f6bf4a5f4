/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_CHANCE_H
#define TESTS_SUPPORT_CHANCE_H

/*
 * Random numbers that can be replayed.
 *
 * A test takes its seed once; it is printed, and XAC_TEST_SEED sets it. The generator is
 * splitmix64 (G. Steele et al., OOPSLA 2014): every seed is a good one, also 0, 1, 2.
 */

#include <stdint.h>

struct chance {
        uint64_t state;
};

/* The seed of this run: XAC_TEST_SEED, or a fresh one. Prints it. */
uint64_t chance_seed(void);

/* One of 2^64 values made of `value`: the same for the same value. */
uint64_t chance_mix(uint64_t value);

uint64_t chance_next(struct chance *chance);
uint64_t chance_below(struct chance *chance, uint64_t bound); /* 0 ... bound - 1 */
int chance_percent(struct chance *chance, unsigned percent);  /* true that often */

#endif
