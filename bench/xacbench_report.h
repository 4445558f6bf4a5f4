/* SPDX-License-Identifier: MIT */
#ifndef BENCH_XACBENCH_REPORT_H
#define BENCH_XACBENCH_REPORT_H

/*
 * What many runs of one experiment came to: a table of medians with minimum and maximum and with the ratios to the
 * systems that are the measure, and rows for the CSV file, one for each repetition.
 */

#include "bench/support/csv.h"
#include "bench/support/measure.h"
#include "bench/xacbench.h"

enum {
        REPORT_OPS,
        REPORT_US,
        REPORT_P50,
        REPORT_P99,
        REPORT_P999,
        REPORT_P99999,
        REPORT_BYTES,
        REPORT_ABORTS,
        REPORT_READ, /* these two where memory is limited */
        REPORT_WRITTEN,
        REPORT_METRICS
};

enum { REPORT_SYSTEMS_MAX = 32, REPORT_CROWDS_MAX = 32, REPORT_PARAM = 160 };

struct report_cell {
        bool is_run;
        int processes, threads;
        uint64_t wrong; /* runs that do not count */
        struct samples samples[REPORT_METRICS];
};

/* A race: some systems by some crowds of workers. */
struct report {
        const struct experiment *experiment;
        char param[REPORT_PARAM];
        bool has_little_memory;
        int systems, crowds;
        uint64_t repetitions; /* in all, those with latencies included */
        const struct store *stores[REPORT_SYSTEMS_MAX];
        struct report_cell cells[REPORT_CROWDS_MAX][REPORT_SYSTEMS_MAX];
};

/* "keys=1000000;key=8;value=8;dist=uniform" and what else is not as usual. */
void report_param(const struct plan *plan, char param[REPORT_PARAM]);
/* Latencies of a run whose operations were timed, and the rest of one whose were not; of slow experiments
 * both at once. */
void report_add(struct report_cell *cell, const struct plan *plan, const struct outcome *outcome);
void report_print(const struct report *report);
void report_write(const struct report *report, struct csv *csv);
void report_free(struct report *report);

#endif
