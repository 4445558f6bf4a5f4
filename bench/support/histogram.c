/* SPDX-License-Identifier: MIT */
#include "bench/support/histogram.h"

#include <stddef.h>

enum { STEP_BITS = 5, BUCKETS = HISTOGRAM_STEPS * HISTOGRAM_OCTAVES };

_Static_assert(HISTOGRAM_STEPS == 1 << STEP_BITS, "an octave has so many steps");

static size_t bucket_of(uint64_t ns)
{
        if (ns < HISTOGRAM_STEPS)
                return (size_t)ns;
        const size_t shift = 63U - (size_t)__builtin_clzll(ns) - STEP_BITS;
        const size_t bucket = shift * HISTOGRAM_STEPS + (size_t)(ns >> shift);
        return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The largest value that it counts. */
static uint64_t end_of(size_t bucket)
{
        if (bucket < HISTOGRAM_STEPS)
                return bucket;
        const size_t shift = bucket / HISTOGRAM_STEPS - 1;
        return ((bucket - shift * HISTOGRAM_STEPS + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
        histogram->count++;
        histogram->bucket[bucket_of(ns)]++;
        if (ns > histogram->max_ns)
                histogram->max_ns = ns;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
        into->count += from->count;
        for (size_t b = 0; b < BUCKETS; b++)
                into->bucket[b] += from->bucket[b];
        if (from->max_ns > into->max_ns)
                into->max_ns = from->max_ns;
}

double histogram_quantile_ns(const struct histogram *histogram, double fraction)
{
        const double wanted = fraction * (double)histogram->count;
        uint64_t counted = 0;

        for (size_t b = 0; b < BUCKETS && histogram->count; b++) {
                counted += histogram->bucket[b];
                if ((double)counted >= wanted && counted)
                        return (double)(end_of(b) < histogram->max_ns ? end_of(b) : histogram->max_ns);
        }
        return (double)histogram->max_ns;
}
