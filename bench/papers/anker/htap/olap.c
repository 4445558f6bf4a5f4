/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/olap.h"

#include <errno.h>
#include <string.h>

#include "bench/papers/anker/htap/kernels.h"
#include "bench/papers/anker/htap/scan.h"
#include "bench/support/measure.h"

const char *const olap_name[OLAP_KINDS] = {
        [OLAP_Q1] = "Q1",
        [OLAP_Q4] = "Q4",
        [OLAP_Q6] = "Q6",
        [OLAP_Q17] = "Q17",
        [OLAP_LINEITEM] = "scan_lineitem",
        [OLAP_ORDERS] = "scan_orders",
        [OLAP_PART] = "scan_part",
};

enum { LAST_SHIPPED = 2526, /* the first of December 1998 */ QUARTER = 91, YEAR = 365, QUARTERS = 20, YEARS = 5 };

static int32_t between(uint64_t *random, int32_t least, int32_t most)
{
        return least + (int32_t)((measure_random(random) >> 16) % (uint32_t)(most - least + 1));
}

/* Quarters and years have 91 and 365 days, and begin at multiples of them. */
struct olap olap_draw(enum olap_kind only, uint64_t *random)
{
        struct olap olap = { .kind = only == OLAP_KINDS ? (enum olap_kind)between(random, 0, OLAP_KINDS - 1) : only };
        int32_t *param = olap.param;

        if (olap.kind == OLAP_Q1) {
                param[0] = LAST_SHIPPED - between(random, 60, 120);
        } else if (olap.kind == OLAP_Q4) {
                param[0] = QUARTER * between(random, 0, QUARTERS - 1);
                param[1] = param[0] + QUARTER;
        } else if (olap.kind == OLAP_Q6) {
                param[0] = YEAR * between(random, 1, YEARS);
                param[1] = param[0] + YEAR;
                param[2] = between(random, 1, 8);
                param[3] = param[2] + 2;
                param[4] = between(random, 24, 25);
        } else if (olap.kind == OLAP_Q17) {
                param[0] = between(random, 0, 24);
                param[1] = between(random, 0, 39);
        }
        return olap;
}

static int run_q1(const struct reader *reader, const struct tables *tables, const struct olap *olap,
                  struct answer *answer)
{
        struct q1 q1 = { .last_day = olap->param[0] };
        const struct scan scan = {
                LINEITEM,
                7,
                { L_SHIPDATE, L_RETURNFLAG, L_LINESTATUS, L_QUANTITY, L_EXTENDEDPRICE, L_DISCOUNT, L_TAX },
                kernel_q1,
                &q1,
                sizeof(q1),
                0
        };
        const int err = scan_run(&scan, reader, tables->rows[LINEITEM]);

        answer->columns = 2 + Q1_SUMS;
        for (int group = 0; group < Q1_GROUPS; group++) {
                if (!q1.sum[group][Q1_COUNT])
                        continue;
                int64_t *row = answer->value[answer->rows++];
                row[0] = group / 2;
                row[1] = group % 2;
                memcpy(row + 2, q1.sum[group], sizeof(q1.sum[group]));
        }
        return err;
}

static int run_q4(const struct reader *reader, const struct tables *tables, const struct olap *olap,
                  struct answer *answer)
{
        struct q4 q4 = { olap->param[0], olap->param[1], reader, tables->first_line, { 0 } };
        const struct scan scan = { ORDERS, 1, { O_ORDERDATE }, kernel_q4, &q4, sizeof(q4), 0 };
        const int err = scan_run(&scan, reader, tables->rows[ORDERS]);

        answer->columns = 2;
        for (int priority = 0; priority < Q4_GROUPS; priority++) {
                if (!q4.count[priority])
                        continue;
                answer->value[answer->rows][0] = priority;
                answer->value[answer->rows++][1] = q4.count[priority];
        }
        return err;
}

static int run_q6(const struct reader *reader, const struct tables *tables, const struct olap *olap,
                  struct answer *answer)
{
        struct q6 q6 = { .first_day = olap->param[0],
                         .end_day = olap->param[1],
                         .least_discount = olap->param[2],
                         .most_discount = olap->param[3],
                         .quantity = olap->param[4],
                         .reader = reader };
        const struct scan scan = { LINEITEM,  4,   { L_SHIPDATE, L_QUANTITY, L_DISCOUNT, L_EXTENDEDPRICE },
                                   kernel_q6, &q6, sizeof(q6),
                                   2 };
        const int err = scan_run(&scan, reader, tables->rows[LINEITEM]);

        answer->rows = answer->columns = 1;
        answer->value[0][0] = q6.revenue;
        return err;
}

static int run_q17(const struct reader *reader, const struct tables *tables, const struct olap *olap,
                   struct answer *answer)
{
        struct q17 q17;
        int err = q17_open(&q17, tables->rows[PART], olap->param[0], olap->param[1]);
        const struct scan parts = { PART, 2, { P_BRAND, P_CONTAINER }, kernel_q17_parts, &q17, sizeof(q17), 0 };
        const struct scan lines = { LINEITEM, 2, { L_PARTKEY, L_QUANTITY }, kernel_q17_lines, &q17, sizeof(q17), 0 };

        if (!err)
                err = scan_run(&parts, reader, tables->rows[PART]);
        if (!err)
                err = scan_run(&lines, reader, tables->rows[LINEITEM]);
        answer->rows = answer->columns = 1;
        if (!err && q17.is_out_of_memory)
                err = -ENOMEM;
        answer->value[0][0] = err ? 0 : q17_sum_small(&q17, reader);
        q17_close(&q17);
        return err;
}

static int run_scan(const struct reader *reader, const struct tables *tables, enum table_no table,
                    struct answer *answer)
{
        struct sums sums = { .columns = table_spec[table].end_column - table_spec[table].first_column };
        struct scan scan = { table, sums.columns, { 0 }, kernel_sums, &sums, sizeof(sums), 0 };

        for (int c = 0; c < sums.columns; c++)
                scan.column[c] = table_spec[table].first_column + c;
        const int err = scan_run(&scan, reader, tables->rows[table]);
        answer->rows = 1;
        answer->columns = sums.columns;
        memcpy(answer->value[0], sums.sum, sizeof(sums.sum));
        return err;
}

int olap_run(const struct reader *reader, const struct tables *tables, const struct olap *olap, struct answer *answer)
{
        *answer = (struct answer){ 0 };
        switch (olap->kind) {
        case OLAP_Q1:
                return run_q1(reader, tables, olap, answer);
        case OLAP_Q4:
                return run_q4(reader, tables, olap, answer);
        case OLAP_Q6:
                return run_q6(reader, tables, olap, answer);
        case OLAP_Q17:
                return run_q17(reader, tables, olap, answer);
        case OLAP_LINEITEM:
                return run_scan(reader, tables, LINEITEM, answer);
        case OLAP_ORDERS:
                return run_scan(reader, tables, ORDERS, answer);
        case OLAP_PART:
                return run_scan(reader, tables, PART, answer);
        case OLAP_KINDS:
                break;
        }
        return 0;
}

bool answer_is_equal(const struct answer *a, const struct answer *b)
{
        if (a->rows != b->rows || a->columns != b->columns)
                return false;
        for (int row = 0; row < a->rows; row++)
                if (memcmp(a->value[row], b->value[row], (size_t)a->columns * sizeof(a->value[row][0])) != 0)
                        return false;
        return true;
}
