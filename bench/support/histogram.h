/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_HISTOGRAM_H
#define BENCH_SUPPORT_HISTOGRAM_H

/*
 * Durations of very many events in little memory, which may be shared: counts of values that agree
 * in their first six bits, so that a quantile is right to within 3 %. The maximum is exact. (The
 * idea of HdrHistogram, G. Tene.)
 *
 *      below 32 ns    one bucket each
 *      then           32 buckets from each power of two to the next
 */

#include <stdint.h>

enum { HISTOGRAM_STEPS = 32, HISTOGRAM_OCTAVES = 38 }; /* to 73 minutes; what is longer counts as that */

struct histogram {
        uint64_t count;
        uint64_t max_ns;
        uint64_t bucket[HISTOGRAM_STEPS * HISTOGRAM_OCTAVES];
};

void histogram_add(struct histogram *histogram, uint64_t ns);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The duration that this fraction of all did not exceed; 0 when there are none. */
double histogram_quantile_ns(const struct histogram *histogram, double fraction);

#endif
