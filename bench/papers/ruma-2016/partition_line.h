/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_PARTITION_LINE_H
#define BENCH_PAPERS_RUMA_2016_PARTITION_LINE_H

/*
 * Keys on their way to a partition are collected until a line of the cache is full, and then written around the cache:
 * so a partition's line is not read first, and a page's translation is needed once per line only. See F. M.
 * Schuhknecht, P. Khanchandani and J. Dittrich: "On the Surprising Difficulty of Simple Things: the Case of Radix
 * Partitioning", PVLDB 8(9), 2015.
 */

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LINE_BYTES = 64, LINE_KEYS = 8 };

struct partition_line {
        _Alignas(LINE_BYTES) uint64_t key[LINE_KEYS];
};

static inline void line_write(uint64_t *to, const struct partition_line *line)
{
#ifdef __SSE2__
        for (int i = 0; i < LINE_KEYS; i += 2)
                _mm_stream_si128((__m128i *)(to + i), _mm_load_si128((const __m128i *)(line->key + i)));
#else
        memcpy(to, line, sizeof(*line));
#endif
}

/* What was written around the cache is seen by all that comes after. */
static inline void line_fence(void)
{
#ifdef __SSE2__
        _mm_sfence();
#endif
}

static inline unsigned line_slot(const uint64_t *at)
{
        return (unsigned)((uintptr_t)at / sizeof(*at) % LINE_KEYS);
}

/* The keys of a line that is not full, which belong before `end`. `begin`: nothing before it is the partition's. */
static inline void line_write_rest(uint64_t *begin, uint64_t *end, const struct partition_line *line)
{
        uint64_t *to = end - line_slot(end);
        for (to = to < begin ? begin : to; to < end; to++)
                *to = line->key[line_slot(to)];
}

#endif
