/* SPDX-License-Identifier: MIT */
#ifndef BENCH_DURABLE_H
#define BENCH_DURABLE_H

/*
 * Experiments about durability share the options of the command line and the CSV file. bench/durable runs those of
 * durable_experiments.h, bench/papers/libxac-2005/thesis_durable those of the thesis.
 * Each experiment measures, prints a table with medians (and minimum to maximum), writes every
 * repetition to the CSV file, and returns how many of its figures are not what they should be.
 */

#include <stdint.h>

#include "bench/crew.h"
#include "bench/support/csv.h"

enum { DURABLE_COUNTS_MAX = 8, DURABLE_TEXT = 48 };

struct durable {
        uint64_t seconds; /* of a cell */
        uint64_t repetitions;
        uint64_t log_mib;               /* of the log that is replayed */
        int counts[DURABLE_COUNTS_MAX]; /* of workers */
        int count_len;
        struct csv csv;
};

struct durable_experiment {
        const char *name, *series; /* as asked for, and in the CSV file */
        int (*run)(struct durable *durable);
};

/* Of the program: one without a name is the last. */
extern const struct durable_experiment durable_experiments[];
extern const char durable_purpose[];

/* A line of progress, on stderr: overwritten by the next one on a terminal, else left out. */
void durable_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void durable_progress_end(void);

/* "median (minimum to maximum)" of samples / unit, for a table; returns text. */
const char *durable_spread(char text[DURABLE_TEXT], const struct samples *samples, double unit, int digits);

/* Zeroed memory that children forked later share with this process. */
void *durable_shared(size_t byte_len);

#endif
