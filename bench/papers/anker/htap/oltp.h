/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_OLTP_H
#define BENCH_PAPERS_ANKER_HTAP_OLTP_H

/*
 * Nine short transactions. The paper names the columns that are read and written, how parameters are drawn, and how new
 * values follow from old ones; its figure 6, which shows the statements, is a picture. So these are our own, over the
 * same columns:
 *
 *      OLTP_DISCOUNT     l_discount of a line                         by key
 *      OLTP_LINE_PRICE   l_extendedprice of a line                    by key
 *      OLTP_SHIPDATE     l_shipdate of an order's lines               with this l_returnflag
 *      OLTP_FLAGS        l_returnflag and l_linestatus of a line      by key
 *      OLTP_PRIORITY     o_orderpriority of an order                  by key
 *      OLTP_TOTAL        o_totalprice of an order                     if one of its lines has this l_linestatus
 *      OLTP_RETAIL       p_retailprice of a part                      by key
 *      OLTP_BRAND        p_brand of a part                            by key
 *      OLTP_LARGE        o_totalprice of an order                     if it is above the average of those with this
 *                                                                     o_orderpriority among the next rows (1,000)
 *
 * Strings become one that exists. Money changes by a few permille, discounts and dates by a few steps; new values come
 * from integer arithmetic alone and stay within bounds, so that every system gets the same (sql.c has it as SQL).
 */

#include <stdint.h>

#include "bench/papers/anker/htap/engine.h"

enum oltp_kind {
        OLTP_DISCOUNT,
        OLTP_LINE_PRICE,
        OLTP_SHIPDATE,
        OLTP_FLAGS,
        OLTP_PRIORITY,
        OLTP_TOTAL,
        OLTP_RETAIL,
        OLTP_BRAND,
        OLTP_LARGE,
        OLTP_KINDS
};

enum { LARGE_ROWS = 1000, PRICE_BOUND = 20000000 };

extern const char *const oltp_name[OLTP_KINDS];

struct oltp {
        enum oltp_kind kind;
        uint32_t row;        /* of the order, line or part that is changed */
        int32_t code, other; /* of strings */
        int32_t step;
        uint32_t rows; /* that OLTP_LARGE reads */
};

/* A call with parameters of its own; `only`: of that kind, unless it is OLTP_KINDS. */
struct oltp oltp_draw(const struct tables *tables, enum oltp_kind only, uint64_t *random);

/* Runs it once: 0, LOST, or an error. */
int oltp_run(const struct engine_ops *ops, const struct tables *tables, struct session *session,
             const struct oltp *oltp);

static inline int32_t oltp_price(int32_t price, int32_t step)
{
        return 1 + (int32_t)((int64_t)price * (1000 + step) / 1000 % PRICE_BOUND);
}

static inline int32_t oltp_discount(int32_t discount, int32_t step)
{
        return (discount + step + 11) % 11;
}

static inline int32_t oltp_date(int32_t date, int32_t step)
{
        return (date + step) % DAYS;
}

#endif
