/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_CSV_H
#define BENCH_SUPPORT_CSV_H

/*
 * The results as comma-separated values, one row per repetition, under the header
 *
 *         experiment,system,processes,threads,param,metric,value,unit
 *
 * A file that was there before is overwritten. No field needs quoting.
 */

#include <stdint.h>
#include <stdio.h>

#include "bench/support/measure.h"

struct csv {
        FILE *file;
        const char *path, *experiment;
};

/* What the rows of one series have in common; `system` is what was measured. */
struct csv_series {
        const char *system;
        int processes, threads;
        uint64_t param;
        const char *metric, *unit;
};

/* Both end the program when the file cannot be written. */
void csv_open(struct csv *csv, const char *path, const char *experiment);
void csv_close(struct csv *csv);

void csv_row(struct csv *csv, const struct csv_series *series, double value);
/* The same with a param that is not a number: "keys=1000;key=8". */
void csv_text_row(struct csv *csv, const struct csv_series *series, const char *param, double value);
void csv_rows(struct csv *csv, const struct csv_series *series, const struct samples *samples);

#endif
