/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_REARRANGE_GRID_H
#define BENCH_PAPERS_RUMA_2016_REARRANGE_GRID_H

/*
 * Figures of several ways, each with several sizes: a row for each way, a column for each size. Shown are medians over
 * the rounds; a cell without figures is "-".
 */

#include <stdbool.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"

enum { GRID_ROWS_MAX = 24 };

struct grid {
        int rows;
        const char *row[GRID_ROWS_MAX];
        const char *columns_name;
        struct option_numbers columns;
        struct samples cell[GRID_ROWS_MAX][OPTION_LIST_MAX];
};

void grid_free(struct grid *grid);
void grid_print(const struct grid *grid, const char *title, int decimals);
/* How many times as good as that row are the others, within each round? Nothing if there is no such row. */
void grid_print_times(const struct grid *grid, const char *row, bool is_time);
/* csv: NULL for none. */
void grid_write(const struct grid *grid, struct csv *csv, const char *metric, const char *unit);

#endif
