/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/sql.h"

#include <string.h>

#define NEW_PRICE(price) "1 + " price " * (1000 + $1) / 1000 % 20000000"

const char *const sql_oltp[OLTP_KINDS] = {
        [OLTP_DISCOUNT] = "UPDATE lineitem SET l_discount = (l_discount + $1 + 11) % 11 "
                          "WHERE l_orderkey = $2 AND l_linenumber = $3",
        [OLTP_LINE_PRICE] = "UPDATE lineitem SET l_extendedprice = " NEW_PRICE(
                "l_extendedprice") " "
                                   "WHERE l_orderkey = $2 AND l_linenumber = $3",
        [OLTP_SHIPDATE] = "UPDATE lineitem SET l_shipdate = (l_shipdate + $1) % 2557 "
                          "WHERE l_orderkey = $2 AND l_returnflag = $3",
        [OLTP_FLAGS] = "UPDATE lineitem SET l_returnflag = $1, l_linestatus = $2 "
                       "WHERE l_orderkey = $3 AND l_linenumber = $4",
        [OLTP_PRIORITY] = "UPDATE orders SET o_orderpriority = $1 WHERE o_orderkey = $2",
        [OLTP_TOTAL] = "UPDATE orders SET o_totalprice = " NEW_PRICE(
                "o_totalprice") " WHERE o_orderkey = $2 AND EXISTS "
                                "(SELECT 1 FROM lineitem WHERE l_orderkey = $2 AND l_linestatus = $3)",
        [OLTP_RETAIL] = "UPDATE part SET p_retailprice = " NEW_PRICE("p_retailprice") " WHERE p_partkey = $2",
        [OLTP_BRAND] = "UPDATE part SET p_brand = $1 WHERE p_partkey = $2",
        [OLTP_LARGE] = "UPDATE orders SET o_totalprice = " NEW_PRICE(
                "o_totalprice") " WHERE o_orderkey = $2 AND "
                                "(SELECT sum(o.o_totalprice - orders.o_totalprice) FROM orders o "
                                "WHERE o.o_orderkey >= $2 AND o.o_orderkey < $3 AND o.o_orderpriority = $4) < 0",
};

static const char *const queries[OLAP_KINDS] = {
        [OLAP_Q1] = "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), "
                    "sum(l_extendedprice * (100 - l_discount)), "
                    "sum(l_extendedprice * (100 - l_discount) * (100 + l_tax)), sum(l_discount), count(*) "
                    "FROM lineitem WHERE l_shipdate <= $1 GROUP BY 1, 2 ORDER BY 1, 2",
        [OLAP_Q4] =
                "SELECT o_orderpriority, count(*) FROM orders WHERE o_orderdate >= $1 AND o_orderdate < $2 AND EXISTS "
                "(SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) "
                "GROUP BY 1 ORDER BY 1",
        [OLAP_Q6] = "SELECT coalesce(sum(l_extendedprice * l_discount), 0) FROM lineitem WHERE l_shipdate >= $1 AND "
                    "l_shipdate < $2 AND l_discount BETWEEN $3 AND $4 AND l_quantity < $5",
        [OLAP_Q17] = "WITH lines AS MATERIALIZED (SELECT l_partkey, l_quantity, l_extendedprice FROM lineitem "
                     "WHERE l_partkey IN (SELECT p_partkey FROM part WHERE p_brand = $1 AND p_container = $2)), "
                     "totals AS (SELECT l_partkey AS partkey, sum(l_quantity) AS quantity, count(*) AS lines "
                     "FROM lines GROUP BY l_partkey) SELECT coalesce(sum(l_extendedprice), 0) FROM lines "
                     "JOIN totals ON partkey = l_partkey WHERE 5 * l_quantity * totals.lines < quantity",
};

/* `before`, then the columns of a table, each between `open` and `close`, then `after`. */
static void list_columns(enum table_no table, const char *before, const char *open, const char *close,
                         const char *after, char text[SQL_TEXT])
{
        size_t len = (size_t)snprintf(text, SQL_TEXT, "%s", before);
        for (int c = table_spec[table].first_column; c < table_spec[table].end_column; c++)
                len += (size_t)snprintf(text + len, SQL_TEXT - len, "%s%s%s%s",
                                        c == table_spec[table].first_column ? "" : ", ", open, column_spec[c].name,
                                        close);
        snprintf(text + len, SQL_TEXT - len, "%s", after);
}

void sql_olap(enum olap_kind kind, char text[SQL_TEXT])
{
        char from[64];

        if (queries[kind]) {
                snprintf(text, SQL_TEXT, "%s", queries[kind]);
                return;
        }
        const enum table_no table = kind == OLAP_LINEITEM ? LINEITEM : kind == OLAP_ORDERS ? ORDERS : PART;
        snprintf(from, sizeof(from), " FROM %s", table_spec[table].name);
        list_columns(table, "SELECT ", "sum(", ")", from, text);
}

void sql_create(enum table_no table, const char *suffix, char text[SQL_TEXT])
{
        static const char *const key[TABLES] = { "l_orderkey, l_linenumber", "o_orderkey", "p_partkey" };
        char before[64], after[128];

        snprintf(before, sizeof(before), "CREATE TABLE %s (", table_spec[table].name);
        snprintf(after, sizeof(after), ", PRIMARY KEY (%s))%s", key[table], suffix);
        list_columns(table, before, "", " INTEGER", after, text);
}

static int put(int32_t *param, int count, int32_t value)
{
        param[count] = value;
        return count + 1;
}

static int put_line_key(const struct tables *tables, uint32_t row, int32_t *param, int count)
{
        count = put(param, count, tables->column[L_ORDERKEY][row]);
        return put(param, count, tables->column[L_LINENUMBER][row]);
}

int sql_oltp_params(const struct tables *tables, const struct oltp *oltp, int32_t param[SQL_PARAMS])
{
        const int32_t key = (int32_t)oltp->row + 1;
        int count;

        switch (oltp->kind) {
        case OLTP_DISCOUNT:
        case OLTP_LINE_PRICE:
                count = put(param, 0, oltp->step);
                return put_line_key(tables, oltp->row, param, count);
        case OLTP_FLAGS:
                count = put(param, 0, oltp->code);
                count = put(param, count, oltp->other);
                return put_line_key(tables, oltp->row, param, count);
        case OLTP_PRIORITY:
        case OLTP_BRAND:
                count = put(param, 0, oltp->code);
                return put(param, count, key);
        case OLTP_RETAIL:
                count = put(param, 0, oltp->step);
                return put(param, count, key);
        case OLTP_LARGE:
                count = put(param, 0, oltp->step);
                count = put(param, count, key);
                count = put(param, count, key + (int32_t)oltp->rows);
                return put(param, count, oltp->code);
        default:
                count = put(param, 0, oltp->step);
                count = put(param, count, key);
                return put(param, count, oltp->kind == OLTP_TOTAL ? oltp->other : oltp->code);
        }
}

int sql_olap_params(const struct olap *olap, int32_t param[SQL_PARAMS])
{
        static const int count[OLAP_KINDS] = { [OLAP_Q1] = 1, [OLAP_Q4] = 2, [OLAP_Q6] = 5, [OLAP_Q17] = 2 };
        memcpy(param, olap->param, (size_t)count[olap->kind] * sizeof(param[0]));
        return count[olap->kind];
}
