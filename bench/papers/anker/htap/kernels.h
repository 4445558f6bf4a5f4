/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_KERNELS_H
#define BENCH_PAPERS_ANKER_HTAP_KERNELS_H

/* What the queries do with a block of each column, whoever keeps it (scan.h). */

#include <stdint.h>

#include "bench/papers/anker/htap/engine.h"

enum { SUMS_COLUMNS = 16 };

struct sums {
        int columns;
        int64_t sum[SUMS_COLUMNS];
};
void kernel_sums(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state);

/* Of the values whose row has this code. */
struct sum {
        int64_t total, count;
};
struct sum kernel_sum_equal(const int32_t *code, const int32_t *value, uint32_t rows, int32_t wanted);

/* Group: l_returnflag * 2 + l_linestatus. */
enum { Q1_QUANTITY, Q1_PRICE, Q1_DISCOUNTED, Q1_CHARGED, Q1_DISCOUNT, Q1_COUNT, Q1_SUMS, Q1_GROUPS = 6 };

struct q1 {
        int32_t last_day;
        int64_t sum[Q1_GROUPS][Q1_SUMS];
};
void kernel_q1(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state);

enum { Q4_GROUPS = 5 };

/* For each order of the time it looks at the order's lines, until one was received late. */
struct q4 {
        int32_t first_day, end_day;
        const struct reader *reader;
        const uint32_t *first_line;
        int64_t count[Q4_GROUPS];
};
void kernel_q4(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state);

/* Where discounts and prices are not in place, they are asked for of the rows that were shipped in time. */
struct q6 {
        int32_t first_day, end_day, least_discount, most_discount, quantity;
        const struct reader *reader;
        int64_t revenue;
};
void kernel_q6(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state);

struct q17_line {
        uint32_t row;
        int32_t part, quantity;
};

/* First the parts are marked, then their lines collected; prices are read of those lines alone that count. */
struct q17 {
        int32_t brand, container;
        uint32_t parts, lines, room;
        unsigned char *is_wanted; /* by row of PART */
        struct q17_line *line;
        bool is_out_of_memory;
};
int q17_open(struct q17 *q17, uint32_t parts, int32_t brand, int32_t container);
void q17_close(struct q17 *q17);
void kernel_q17_parts(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state);
void kernel_q17_lines(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state);
/* l_extendedprice of the lines with less than a fifth of the average quantity of their part, added up. */
int64_t q17_sum_small(struct q17 *q17, const struct reader *reader);

#endif
