/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/sort_radix.h"

#include <string.h>

/* Even; 11 bits each at most, so that the counters of a digit stay in the first cache. */
enum { DIGITS = 6, VALUES_MAX = 1 << 11 };

static void count(const uint64_t *keys, uint64_t n, int width, uint32_t counters[DIGITS][VALUES_MAX])
{
        const uint64_t mask = (UINT64_C(1) << width) - 1;

        memset(counters, 0, DIGITS * sizeof(*counters));
        for (uint64_t i = 0; i < n; i++)
                for (int d = 0; d < DIGITS; d++)
                        counters[d][keys[i] >> d * width & mask]++;
}

static void move(const uint64_t *from, uint64_t n, uint64_t *to, int shift, int width, uint32_t *counters)
{
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        uint32_t next = 0;

        for (uint64_t value = 0; value <= mask; value++) {
                const uint32_t keys = counters[value];
                counters[value] = next;
                next += keys;
        }
        for (uint64_t i = 0; i < n; i++)
                to[counters[from[i] >> shift & mask]++] = from[i];
}

void sort_radix(uint64_t *keys, uint64_t n, uint64_t *scratch, int bits)
{
        static uint32_t counters[DIGITS][VALUES_MAX];
        const int width = (bits + DIGITS - 1) / DIGITS;

        count(keys, n, width, counters);
        for (int d = 0; d < DIGITS; d += 2) {
                move(keys, n, scratch, d * width, width, counters[d]);
                move(scratch, n, keys, (d + 1) * width, width, counters[d + 1]);
        }
}
