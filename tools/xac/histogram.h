/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_HISTOGRAM_H
#define TOOLS_XAC_HISTOGRAM_H

/*
 * How numbers are spread, by powers of two that are cut into 128 parts: what it says of them is right to a hundredth.
 */

#include <stdint.h>

enum { HISTOGRAM_PARTS = 128, HISTOGRAM_BUCKETS = 58 * HISTOGRAM_PARTS };

/* All zeros: empty. */
struct histogram {
        uint64_t count;
        uint64_t sum;
        uint64_t most;
        uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t number);
/* So many ten-thousandths of them are not larger than the result: 9990 for p99.9. 0 if there are none. */
uint64_t histogram_at(const struct histogram *histogram, uint32_t ten_thousandths);

#endif
