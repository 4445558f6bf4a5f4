/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_TABLES_H
#define BENCH_PAPERS_ANKER_HTAP_TABLES_H

/*
 * The tables LINEITEM, ORDERS and PART of TPC-H, by columns: an array of 32-bit integers each.
 *
 *  - money is in cents, discount and tax in hundredths, so that every sum is exact;
 *  - a date is the number of days since the first of January 1992;
 *  - a string is its number in the dictionary of its column;
 *  - a column is padded with zeros to whole blocks of 1,024 rows. A block is 4 KiB: a page.
 *
 * Keys are dense, from 1 on: order k is row k - 1 of ORDERS, part k is row k - 1 of PART, and the lines of the order in
 * row r are the rows first_line[r] .. first_line[r + 1] - 1 of LINEITEM. No transaction changes a key, so that this
 * index is never written, and every system may use it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/papers/anker/htap/dictionary.h"

enum { BLOCK_ROWS = 1024, DAYS = 2557 /* 1992 to 1998 */ };

enum table_no { LINEITEM, ORDERS, PART, TABLES };

enum column_no {
        L_ORDERKEY,
        L_PARTKEY,
        L_SUPPKEY,
        L_LINENUMBER,
        L_QUANTITY,
        L_EXTENDEDPRICE,
        L_DISCOUNT,
        L_TAX,
        L_RETURNFLAG,
        L_LINESTATUS,
        L_SHIPDATE,
        L_COMMITDATE,
        L_RECEIPTDATE,
        L_SHIPINSTRUCT,
        L_SHIPMODE,
        L_COMMENT,
        O_ORDERKEY,
        O_CUSTKEY,
        O_ORDERSTATUS,
        O_TOTALPRICE,
        O_ORDERDATE,
        O_ORDERPRIORITY,
        O_CLERK,
        O_SHIPPRIORITY,
        O_COMMENT,
        P_PARTKEY,
        P_NAME,
        P_MFGR,
        P_BRAND,
        P_TYPE,
        P_SIZE,
        P_CONTAINER,
        P_RETAILPRICE,
        P_COMMENT,
        COLUMNS
};

struct column_spec {
        const char *name;
        enum table_no table;
        bool is_written; /* by a transaction */
        bool is_text;
};

struct table_spec {
        const char *name;
        int first_column, end_column;
};

extern const struct column_spec column_spec[COLUMNS];
extern const struct table_spec table_spec[TABLES];

struct tables {
        uint32_t rows[TABLES];
        int32_t *column[COLUMNS];
        uint32_t *first_line; /* of each order, and one more */
        struct dictionary words[COLUMNS];
};

/* Columns of zeros for so many rows. 0, or -ENOMEM. */
int tables_make(struct tables *tables, const uint32_t rows[TABLES]);
void tables_free(struct tables *tables);

static inline uint32_t tables_column_rows(const struct tables *tables, int column)
{
        return tables->rows[column_spec[column].table];
}

static inline uint32_t blocks_of(uint32_t rows)
{
        return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

/* Of a column, padding included. */
static inline size_t tables_column_bytes(const struct tables *tables, int column)
{
        return (size_t)blocks_of(tables_column_rows(tables, column)) * BLOCK_ROWS * sizeof(int32_t);
}

#endif
