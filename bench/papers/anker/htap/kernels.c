/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/kernels.h"

#include <errno.h>
#include <stdlib.h>

/* At -O2 GCC 12 vectorizes hardly any of these; clang does. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

enum { Q17_FIRST_ROOM = 1024 };

/* ---- full scans ---- */

static int64_t sum_of(const int32_t *restrict value, uint32_t rows)
{
        int64_t sum = 0;
        for (uint32_t i = 0; i < rows; i++)
                sum += value[i];
        return sum;
}

void kernel_sums(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state)
{
        struct sums *sums = state;

        (void)first_row;
        for (int c = 0; c < sums->columns; c++)
                sums->sum[c] += sum_of(column[c], rows);
}

struct sum kernel_sum_equal(const int32_t *code, const int32_t *value, uint32_t rows, int32_t wanted)
{
        struct sum sum = { 0, 0 };
        for (uint32_t i = 0; i < rows; i++) {
                const bool is_one = code[i] == wanted;
                sum.total += is_one ? value[i] : 0;
                sum.count += is_one;
        }
        return sum;
}

/* ---- Q1 ---- */

void kernel_q1(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state)
{
        const int32_t *shipped = column[0], *flag = column[1], *status = column[2];
        const int32_t *quantity = column[3], *price = column[4], *discount = column[5], *tax = column[6];
        struct q1 *q1 = state;

        (void)first_row;
        for (uint32_t i = 0; i < rows; i++) {
                if (shipped[i] > q1->last_day)
                        continue;
                int64_t *sum = q1->sum[2 * flag[i] + status[i]];
                const int64_t discounted = (int64_t)price[i] * (100 - discount[i]);
                sum[Q1_QUANTITY] += quantity[i];
                sum[Q1_PRICE] += price[i];
                sum[Q1_DISCOUNTED] += discounted;
                sum[Q1_CHARGED] += discounted * (100 + tax[i]);
                sum[Q1_DISCOUNT] += discount[i];
                sum[Q1_COUNT]++;
        }
}

/* ---- Q4 ---- */

static bool has_late_line(const struct q4 *q4, uint32_t order)
{
        for (uint32_t line = q4->first_line[order]; line < q4->first_line[order + 1]; line++)
                if (reader_value(q4->reader, L_COMMITDATE, line) < reader_value(q4->reader, L_RECEIPTDATE, line))
                        return true;
        return false;
}

void kernel_q4(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state)
{
        const int32_t *ordered = column[0];
        struct q4 *q4 = state;

        for (uint32_t i = 0; i < rows; i++)
                if (ordered[i] >= q4->first_day && ordered[i] < q4->end_day && has_late_line(q4, first_row + i))
                        q4->count[reader_value(q4->reader, O_ORDERPRIORITY, first_row + i)]++;
}

/* ---- Q6 ---- */

static int64_t q6_in_place(const struct q6 *by, const int32_t *const *column, uint32_t rows)
{
        const int32_t *shipped = column[0], *quantity = column[1], *discount = column[2], *price = column[3];
        const struct q6 q6 = *by;
        int64_t revenue = 0;

        for (uint32_t i = 0; i < rows; i++) {
                const int32_t is_in = (shipped[i] >= q6.first_day) & (shipped[i] < q6.end_day) &
                                      (discount[i] >= q6.least_discount) & (discount[i] <= q6.most_discount) &
                                      (quantity[i] < q6.quantity);
                revenue += (int64_t)price[i] * (is_in ? discount[i] : 0);
        }
        return revenue;
}

static int64_t q6_late(const struct q6 *q6, const int32_t *const *column, uint32_t first_row, uint32_t rows)
{
        const int32_t *shipped = column[0], *quantity = column[1], *discounts = column[2], *prices = column[3];
        int64_t revenue = 0;

        for (uint32_t i = 0; i < rows; i++) {
                if (shipped[i] < q6->first_day || shipped[i] >= q6->end_day || quantity[i] >= q6->quantity)
                        continue;
                const int32_t discount = discounts ? discounts[i] : reader_value(q6->reader, L_DISCOUNT, first_row + i);
                if (discount < q6->least_discount || discount > q6->most_discount)
                        continue;
                revenue += (int64_t)discount *
                           (prices ? prices[i] : reader_value(q6->reader, L_EXTENDEDPRICE, first_row + i));
        }
        return revenue;
}

void kernel_q6(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state)
{
        struct q6 *q6 = state;
        q6->revenue += column[2] && column[3] ? q6_in_place(q6, column, rows) : q6_late(q6, column, first_row, rows);
}

/* ---- Q17 ---- */

int q17_open(struct q17 *q17, uint32_t parts, int32_t brand, int32_t container)
{
        *q17 = (struct q17){ .brand = brand, .container = container, .parts = parts };
        q17->is_wanted = calloc(parts, 1);
        return q17->is_wanted ? 0 : -ENOMEM;
}

void q17_close(struct q17 *q17)
{
        free(q17->is_wanted);
        free(q17->line);
}

void kernel_q17_parts(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state)
{
        struct q17 *q17 = state;

        for (uint32_t i = 0; i < rows; i++)
                q17->is_wanted[first_row + i] = column[0][i] == q17->brand && column[1][i] == q17->container;
}

static void add_line(struct q17 *q17, struct q17_line line)
{
        if (q17->lines == q17->room) {
                const uint32_t room = q17->room ? 2 * q17->room : Q17_FIRST_ROOM;
                struct q17_line *grown = realloc(q17->line, room * sizeof(*grown));
                q17->is_out_of_memory |= !grown;
                if (!grown)
                        return;
                q17->line = grown;
                q17->room = room;
        }
        q17->line[q17->lines++] = line;
}

void kernel_q17_lines(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state)
{
        const int32_t *part = column[0], *quantity = column[1];
        struct q17 *q17 = state;

        for (uint32_t i = 0; i < rows; i++)
                if (q17->is_wanted[part[i] - 1])
                        add_line(q17, (struct q17_line){ first_row + i, part[i], quantity[i] });
}

static int by_part(const void *a, const void *b)
{
        const struct q17_line *left = a, *right = b;
        return (left->part > right->part) - (left->part < right->part);
}

/* The lines from `first` to `end` - 1 are those of a part. */
static int64_t sum_small_of_part(const struct q17 *q17, const struct reader *reader, uint32_t first, uint32_t end)
{
        int64_t quantity = 0, sum = 0;

        for (uint32_t l = first; l < end; l++)
                quantity += q17->line[l].quantity;
        for (uint32_t l = first; l < end; l++)
                if (5 * (int64_t)q17->line[l].quantity * (end - first) < quantity)
                        sum += reader_value(reader, L_EXTENDEDPRICE, q17->line[l].row);
        return sum;
}

int64_t q17_sum_small(struct q17 *q17, const struct reader *reader)
{
        int64_t sum = 0;

        if (q17->lines)
                qsort(q17->line, q17->lines, sizeof(*q17->line), by_part);
        for (uint32_t first = 0, end; first < q17->lines; first = end) {
                for (end = first + 1; end < q17->lines && q17->line[end].part == q17->line[first].part;)
                        end++;
                sum += sum_small_of_part(q17, reader, first, end);
        }
        return sum;
}
