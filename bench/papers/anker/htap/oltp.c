/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/oltp.h"

#include "bench/papers/anker/htap/kernels.h"
#include "bench/support/measure.h"

const char *const oltp_name[OLTP_KINDS] = {
        [OLTP_DISCOUNT] = "discount", [OLTP_LINE_PRICE] = "line_price", [OLTP_SHIPDATE] = "shipdate",
        [OLTP_FLAGS] = "flags",       [OLTP_PRIORITY] = "priority",     [OLTP_TOTAL] = "total",
        [OLTP_RETAIL] = "retail",     [OLTP_BRAND] = "brand",           [OLTP_LARGE] = "large",
};

enum { STEP_PERMILLE = 10, STEP_DAYS = 7, LINES_MAX = 7 };

struct run {
        const struct engine_ops *ops;
        const struct tables *tables;
        struct session *session;
        const struct oltp *oltp;
};

static uint32_t pick(uint64_t *random, uint32_t below)
{
        return (uint32_t)((measure_random(random) >> 16) % below);
}

struct oltp oltp_draw(const struct tables *tables, enum oltp_kind only, uint64_t *random)
{
        static const enum table_no table[OLTP_KINDS] = { LINEITEM, LINEITEM, ORDERS, LINEITEM, ORDERS,
                                                         ORDERS,   PART,     PART,   ORDERS };
        static const int32_t codes[OLTP_KINDS] = { 1, 1, 3, 3, 5, 2, 1, 25, 5 };
        const enum oltp_kind kind = only == OLTP_KINDS ? (enum oltp_kind)pick(random, OLTP_KINDS) : only;
        struct oltp oltp = { .kind = kind,
                             .row = pick(random, tables->rows[table[kind]]),
                             .code = (int32_t)pick(random, (uint32_t)codes[kind]),
                             .other = (int32_t)pick(random, 2),
                             .rows = LARGE_ROWS };
        if (kind == OLTP_DISCOUNT)
                oltp.step = pick(random, 2) ? 1 : -1;
        else if (kind == OLTP_SHIPDATE)
                oltp.step = 1 + (int32_t)pick(random, STEP_DAYS);
        else
                oltp.step = (int32_t)pick(random, 2 * STEP_PERMILLE + 1) - STEP_PERMILLE;
        return oltp;
}

/* ---- reading ---- */

static int32_t get(const struct run *run, int column, uint32_t row)
{
        struct predicate *predicate = session_predicate(run->session);
        if (predicate) {
                predicate->table = (int)column_spec[column].table;
                predicate->first_row = row;
                predicate->end_row = row + 1;
                predicate->filters = 0;
                predicate->outputs = UINT64_C(1) << column;
        }
        return run->ops->get(run->session, column, row);
}

/* Of rows next to each other, which may lie in two blocks. */
static void get_rows(const struct run *run, int column, uint32_t first, uint32_t end, int32_t *value)
{
        const struct reader *reader = &run->session->reader;

        for (struct stretch stretch = { first, 0 }; stretch.first < end; stretch.first = stretch.end) {
                const uint32_t block_end = (stretch.first / BLOCK_ROWS + 1) * BLOCK_ROWS;
                struct block_pin pin;
                stretch.end = end < block_end ? end : block_end;
                do {
                        const int32_t *values = reader->block(reader->of, column, stretch, &pin);
                        for (uint32_t row = stretch.first; row < stretch.end; row++)
                                value[row - first] = values ? values[row - stretch.first] : 0;
                } while (!reader->is_unchanged(reader->of, column, stretch, &pin));
        }
}

/* Notes that rows were read by the equality of a column. */
static void note_equal(const struct run *run, uint32_t first_row, uint32_t end_row, int column, int32_t code,
                       uint64_t outputs)
{
        struct predicate *predicate = session_predicate(run->session);
        if (!predicate)
                return;
        predicate->table = (int)column_spec[column].table;
        predicate->first_row = first_row;
        predicate->end_row = end_row;
        predicate->filters = 1;
        predicate->filter[0] = (struct filter){ column, code, code };
        predicate->outputs = outputs;
}

/* ---- the transactions ---- */

static void change_discount(const struct run *run)
{
        const int32_t discount = get(run, L_DISCOUNT, run->oltp->row);
        session_put(run->session, L_DISCOUNT, run->oltp->row, discount, oltp_discount(discount, run->oltp->step));
}

static void change_price(const struct run *run, int column)
{
        const int32_t price = get(run, column, run->oltp->row);
        session_put(run->session, column, run->oltp->row, price, oltp_price(price, run->oltp->step));
}

static void change_shipdates(const struct run *run)
{
        const uint32_t first = run->tables->first_line[run->oltp->row];
        const uint32_t end = run->tables->first_line[run->oltp->row + 1];
        int32_t flag[LINES_MAX] = { 0 };

        note_equal(run, first, end, L_RETURNFLAG, run->oltp->code, UINT64_C(1) << L_SHIPDATE);
        get_rows(run, L_RETURNFLAG, first, end, flag);
        for (uint32_t line = first; line < end; line++) {
                if (flag[line - first] != run->oltp->code)
                        continue;
                const int32_t date = run->ops->get(run->session, L_SHIPDATE, line);
                session_put(run->session, L_SHIPDATE, line, date, oltp_date(date, run->oltp->step));
        }
}

/* The old value is no more than what makes the write known to others: it is not read by a predicate. */
static void set(const struct run *run, int column, int32_t code)
{
        const int32_t before = run->ops->get(run->session, column, run->oltp->row);
        session_put(run->session, column, run->oltp->row, before, code);
}

static void change_total(const struct run *run)
{
        const uint32_t first = run->tables->first_line[run->oltp->row];
        const uint32_t end = run->tables->first_line[run->oltp->row + 1];
        int32_t status[LINES_MAX] = { 0 };
        bool exists = false;

        note_equal(run, first, end, L_LINESTATUS, run->oltp->other, 0);
        get_rows(run, L_LINESTATUS, first, end, status);
        for (uint32_t line = first; line < end; line++)
                exists |= status[line - first] == run->oltp->other;
        if (exists)
                change_price(run, O_TOTALPRICE);
}

/* Of the rows of a stretch that have this priority. Prices that are not in place are asked for one by one. */
static struct sum sum_stretch(const struct reader *reader, struct stretch stretch, int32_t code)
{
        const uint32_t rows = stretch.end - stretch.first;
        struct block_pin pins[2];
        struct sum sum;

        do {
                const int32_t *priority = reader->block(reader->of, O_ORDERPRIORITY, stretch, &pins[0]);
                const int32_t *price = reader->in_place(reader->of, O_TOTALPRICE, stretch, &pins[1]);
                sum = (struct sum){ 0, 0 };
                if (priority && price)
                        sum = kernel_sum_equal(priority, price, rows, code);
                for (uint32_t i = 0; priority && !price && i < rows; i++) {
                        if (priority[i] != code)
                                continue;
                        sum.total += reader->value(reader->of, O_TOTALPRICE, stretch.first + i);
                        sum.count++;
                }
        } while (!reader->is_unchanged(reader->of, O_ORDERPRIORITY, stretch, &pins[0]) ||
                 !reader->is_unchanged(reader->of, O_TOTALPRICE, stretch, &pins[1]));
        return sum;
}

static void change_large(const struct run *run)
{
        const uint32_t first = run->oltp->row, rows = run->tables->rows[ORDERS];
        const uint32_t end = rows - first < run->oltp->rows ? rows : first + run->oltp->rows;
        struct sum sum = { 0, 0 };

        note_equal(run, first, end, O_ORDERPRIORITY, run->oltp->code, UINT64_C(1) << O_TOTALPRICE);
        for (struct stretch stretch = { first, 0 }; stretch.first < end; stretch.first = stretch.end) {
                const uint32_t block_end = (stretch.first / BLOCK_ROWS + 1) * BLOCK_ROWS;
                stretch.end = end < block_end ? end : block_end;
                const struct sum part = sum_stretch(&run->session->reader, stretch, run->oltp->code);
                sum.total += part.total;
                sum.count += part.count;
        }
        const int32_t price = get(run, O_TOTALPRICE, first);
        if (price * sum.count > sum.total)
                session_put(run->session, O_TOTALPRICE, first, price, oltp_price(price, run->oltp->step));
}

static void run_body(const struct run *run)
{
        switch (run->oltp->kind) {
        case OLTP_DISCOUNT:
                change_discount(run);
                break;
        case OLTP_LINE_PRICE:
                change_price(run, L_EXTENDEDPRICE);
                break;
        case OLTP_SHIPDATE:
                change_shipdates(run);
                break;
        case OLTP_FLAGS:
                set(run, L_RETURNFLAG, run->oltp->code);
                set(run, L_LINESTATUS, run->oltp->other);
                break;
        case OLTP_PRIORITY:
                set(run, O_ORDERPRIORITY, run->oltp->code);
                break;
        case OLTP_TOTAL:
                change_total(run);
                break;
        case OLTP_RETAIL:
                change_price(run, P_RETAILPRICE);
                break;
        case OLTP_BRAND:
                set(run, P_BRAND, run->oltp->code);
                break;
        case OLTP_LARGE:
                change_large(run);
                break;
        case OLTP_KINDS:
                break;
        }
}

int oltp_run(const struct engine_ops *ops, const struct tables *tables, struct session *session,
             const struct oltp *oltp)
{
        const struct run run = { ops, tables, session, oltp };
        const int err = ops->begin(session);
        if (err)
                return err;
        run_body(&run);
        return ops->commit(session);
}
