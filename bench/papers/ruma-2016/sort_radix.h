/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_SORT_RADIX_H
#define BENCH_PAPERS_RUMA_2016_SORT_RADIX_H

#include <stdint.h>

/*
 * Sorts keys by their `bits` lowest bits, digit by digit from the lowest one; the higher bits are equal. The number of
 * digits is even, so that the keys end where they were. scratch: room for as many. bits: up to 63.
 */
void sort_radix(uint64_t *keys, uint64_t n, uint64_t *scratch, int bits);

#endif
