/* SPDX-License-Identifier: MIT */
#include "bench/support/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

uint64_t measure_minor_faults(void)
{
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return (uint64_t)usage.ru_minflt;
}

static void *checked(void *memory)
{
        if (!memory) {
                fprintf(stderr, "out of memory\n");
                exit(EXIT_FAILURE);
        }
        return memory;
}

void samples_add(struct samples *samples, double value)
{
        if (samples->count == samples->room) {
                samples->room = samples->room ? 2 * samples->room : 64;
                samples->value = checked(realloc(samples->value, samples->room * sizeof(double)));
        }
        samples->value[samples->count++] = value;
}

void samples_free(struct samples *samples)
{
        free(samples->value);
        *samples = (struct samples){ 0 };
}

static int by_value(const void *a, const void *b)
{
        double left = *(const double *)a, right = *(const double *)b;
        return (left > right) - (left < right);
}

/* The value at this fraction of the sorted samples, between neighbours if need be. */
static double quantile(const struct samples *samples, double fraction)
{
        if (samples->count == 0)
                return 0;
        double *sorted = checked(malloc(samples->count * sizeof(double)));
        memcpy(sorted, samples->value, samples->count * sizeof(double));
        qsort(sorted, samples->count, sizeof(double), by_value);
        double place = fraction * (double)(samples->count - 1);
        size_t below = (size_t)place, above = below + (below + 1 < samples->count);
        double result = sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
        free(sorted);
        return result;
}

double samples_median(const struct samples *samples)
{
        return quantile(samples, 0.5);
}

double samples_min(const struct samples *samples)
{
        return quantile(samples, 0);
}

double samples_max(const struct samples *samples)
{
        return quantile(samples, 1);
}

double samples_ratio(const struct samples *above, const struct samples *below)
{
        struct samples ratios = { 0 };

        for (size_t i = 0; i < above->count && i < below->count; i++)
                if (below->value[i] > 0)
                        samples_add(&ratios, above->value[i] / below->value[i]);
        const double median = samples_median(&ratios);
        samples_free(&ratios);
        return median;
}
