/* SPDX-License-Identifier: MIT */
#include "tools/xac/histogram.h"

enum { PART_BITS = 7, WHOLE = 10000 };

/* Numbers below HISTOGRAM_PARTS have a bucket each; then come the parts of [128, 256), [256, 512), ... */
static uint32_t bucket_of(uint64_t number)
{
        uint32_t shift;

        if (number < HISTOGRAM_PARTS)
                return (uint32_t)number;
        shift = 63 - PART_BITS - (uint32_t)__builtin_clzll(number);
        return shift * HISTOGRAM_PARTS + (uint32_t)(number >> shift);
}

/* Its middle. */
static uint64_t number_of(uint32_t bucket)
{
        uint32_t shift;

        if (bucket < 2 * HISTOGRAM_PARTS)
                return bucket;
        shift = bucket / HISTOGRAM_PARTS - 1;
        return ((uint64_t)(bucket % HISTOGRAM_PARTS + HISTOGRAM_PARTS) << shift) + (UINT64_C(1) << shift) / 2;
}

void histogram_add(struct histogram *histogram, uint64_t number)
{
        histogram->count++;
        histogram->sum += number;
        if (number > histogram->most)
                histogram->most = number;
        histogram->buckets[bucket_of(number)]++;
}

uint64_t histogram_at(const struct histogram *histogram, uint32_t ten_thousandths)
{
        double wanted = (double)histogram->count * ten_thousandths / WHOLE;
        uint64_t seen = 0;

        for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
                seen += histogram->buckets[i];
                if (seen && (double)seen >= wanted)
                        return number_of(i) < histogram->most ? number_of(i) : histogram->most;
        }
        return histogram->most;
}
