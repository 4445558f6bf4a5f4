/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_REPORT_H
#define BENCH_SUPPORT_REPORT_H

/*
 * Tables (table.h) in files named FOLDER/NAME.tsv, of medians and what they are times others.
 */

#include <stddef.h>

#include "bench/support/measure.h"
#include "bench/support/table.h"

void report_open(struct table *table, const char *folder, const char *name, const char *const *heading);
/* For plots alone: into the file only. */
void report_open_quietly(struct table *table, const char *folder, const char *name, const char *const *heading);

/* The next field: a median, or "-" if there are no samples. */
void report_median(struct table *table, const struct samples *samples, int decimals);
/* How many times as much as the other one, in the median of the rounds; "-" if that is not known. */
void report_times(struct table *table, const struct samples *samples, const struct samples *other);
/* "4 KiB" or "2 MiB". */
void report_page(struct table *table, size_t page_bytes);

#endif
