/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/rearrange_grid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 21, WIDTH = 9 };

void grid_free(struct grid *grid)
{
        for (int r = 0; r < grid->rows; r++)
                for (int c = 0; c < grid->columns.count; c++)
                        samples_free(&grid->cell[r][c]);
}

static void print_heading(const struct grid *grid, const char *title)
{
        printf("\n%s\n\n%-*s", title, NAME_WIDTH, grid->columns_name);
        for (int c = 0; c < grid->columns.count; c++)
                printf("%*" PRIu64, WIDTH, grid->columns.value[c]);
        printf("\n");
}

static void print_cell(double value, bool is_there, int decimals)
{
        if (is_there)
                printf("%*.*f", WIDTH, decimals, value);
        else
                printf("%*s", WIDTH, "-");
}

void grid_print(const struct grid *grid, const char *title, int decimals)
{
        print_heading(grid, title);
        for (int r = 0; r < grid->rows; r++) {
                printf("%-*s", NAME_WIDTH, grid->row[r]);
                for (int c = 0; c < grid->columns.count; c++)
                        print_cell(samples_median(&grid->cell[r][c]), grid->cell[r][c].count, decimals);
                printf("\n");
        }
        fflush(stdout);
}

static int find(const struct grid *grid, const char *name)
{
        for (int r = 0; r < grid->rows; r++)
                if (strcmp(grid->row[r], name) == 0)
                        return r;
        return -1;
}

void grid_print_times(const struct grid *grid, const char *row, bool is_time)
{
        char title[80];
        const int base = find(grid, row);

        if (base < 0)
                return;
        snprintf(title, sizeof(title), "Times %s (above 1: faster than that)", row);
        print_heading(grid, title);
        for (int r = 0; r < grid->rows; r++) {
                printf("%-*s", NAME_WIDTH, grid->row[r]);
                for (int c = 0; c < grid->columns.count; c++) {
                        const struct samples *mine = &grid->cell[r][c], *other = &grid->cell[base][c];
                        const double times = is_time ? samples_ratio(other, mine) : samples_ratio(mine, other);
                        print_cell(times, times > 0, 2);
                }
                printf("\n");
        }
        fflush(stdout);
}

void grid_write(const struct grid *grid, struct csv *csv, const char *metric, const char *unit)
{
        for (int r = 0; csv && r < grid->rows; r++)
                for (int c = 0; c < grid->columns.count; c++) {
                        const struct csv_series series = { grid->row[r], 1, 1, grid->columns.value[c], metric, unit };
                        csv_rows(csv, &series, &grid->cell[r][c]);
                }
}
