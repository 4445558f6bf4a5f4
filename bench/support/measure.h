/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_MEASURE_H
#define BENCH_SUPPORT_MEASURE_H

/*
 * What every measurement needs: the time, cheap random numbers, the minor faults of this
 * process, and samples with their median. Reported figures are medians over repetitions,
 * with minimum and maximum beside them: a mean would show the neighbours of the machine.
 */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* No system call: the vDSO answers. */
static inline uint64_t measure_now_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* xorshift64 (G. Marsaglia, 2003); *state must not be 0. */
static inline uint64_t measure_random(uint64_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

uint64_t measure_minor_faults(void);

struct samples {
        double *value;
        size_t count, room;
};

/* Ends the program when memory is short: a benchmark has nothing better to do. */
void samples_add(struct samples *samples, double value);
void samples_free(struct samples *samples);

/* 0 when there are none. */
double samples_median(const struct samples *samples);
double samples_min(const struct samples *samples);
double samples_max(const struct samples *samples);

/* The median of the ratios above : below within each repetition; 0 if there are none. */
double samples_ratio(const struct samples *above, const struct samples *below);

#endif
