/* SPDX-License-Identifier: MIT */
#include "trees/ehash_trial.h"

#include <stdlib.h>
#include <time.h>

enum {
        ROUNDS = 7,
        LOOKUPS = 4096,
        GAIN_PERCENT =
                3 /* that the area must have in the middle round, as these are loads alone, and a lookup is more */
};

typedef uint64_t follow_fn(const struct ehash_ways *ways, uint64_t random);

/* The thread of the table may write there meanwhile: nothing is done with the value, but the next load waits for it. */
__attribute__((no_sanitize("thread"))) static uint64_t load(const char *addr)
{
        return *(const volatile uint64_t *)addr & 1;
}

/* The step of SplitMix's generator, and a half of its finalizer. */
static uint64_t next(uint64_t random)
{
        random += UINT64_C(0x9e3779b97f4a7c15);
        return (random ^ random >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint64_t follow_directory(const struct ehash_ways *ways, uint64_t random)
{
        for (int i = 0; i < LOOKUPS; i++) {
                const page_no page = ways->directory[random >> (64 - ways->bits)];
                random = next(random + load(ways->arena + ((uint64_t)page << ways->page_shift)));
        }
        return random;
}

static uint64_t follow_area(const struct ehash_ways *ways, uint64_t random)
{
        for (int i = 0; i < LOOKUPS; i++)
                random = next(random + load(ways->area + (random >> (64 - ways->bits) << ways->page_shift)));
        return random;
}

/* Of the thread: what others do meanwhile on its processor does not count. */
static uint64_t now_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t time_of(follow_fn *follow, const struct ehash_ways *ways, uint64_t *random)
{
        const uint64_t before = now_ns();
        *random = follow(ways, *random);
        return now_ns() - before;
}

static int by_size(const void *one_, const void *other_)
{
        const double one = *(const double *)one_, other = *(const double *)other_;
        return (one > other) - (one < other);
}

bool ehash_area_is_faster(const struct ehash_ways *ways)
{
        double gain[ROUNDS];
        uint64_t random = next(ways->bits);
        if (!ways->bits)
                return false;
        for (int round = 0; round < ROUNDS; round++) {
                const uint64_t directory_ns = time_of(follow_directory, ways, &random);
                const uint64_t area_ns = time_of(follow_area, ways, &random);
                gain[round] = (double)directory_ns / (double)(area_ns ? area_ns : 1);
        }
        qsort(gain, ROUNDS, sizeof(gain[0]), by_size);
        return gain[ROUNDS / 2] * 100 >= 100 + GAIN_PERCENT;
}
