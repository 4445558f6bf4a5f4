/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIXED        false, false
#define WRITTEN      true, false
#define TEXT         false, true
#define MUTABLE_TEXT true, true

const struct column_spec column_spec[COLUMNS] = {
        [L_ORDERKEY] = { "l_orderkey", LINEITEM, FIXED },
        [L_PARTKEY] = { "l_partkey", LINEITEM, FIXED },
        [L_SUPPKEY] = { "l_suppkey", LINEITEM, FIXED },
        [L_LINENUMBER] = { "l_linenumber", LINEITEM, FIXED },
        [L_QUANTITY] = { "l_quantity", LINEITEM, FIXED },
        [L_EXTENDEDPRICE] = { "l_extendedprice", LINEITEM, WRITTEN },
        [L_DISCOUNT] = { "l_discount", LINEITEM, WRITTEN },
        [L_TAX] = { "l_tax", LINEITEM, FIXED },
        [L_RETURNFLAG] = { "l_returnflag", LINEITEM, MUTABLE_TEXT },
        [L_LINESTATUS] = { "l_linestatus", LINEITEM, MUTABLE_TEXT },
        [L_SHIPDATE] = { "l_shipdate", LINEITEM, WRITTEN },
        [L_COMMITDATE] = { "l_commitdate", LINEITEM, FIXED },
        [L_RECEIPTDATE] = { "l_receiptdate", LINEITEM, FIXED },
        [L_SHIPINSTRUCT] = { "l_shipinstruct", LINEITEM, TEXT },
        [L_SHIPMODE] = { "l_shipmode", LINEITEM, TEXT },
        [L_COMMENT] = { "l_comment", LINEITEM, TEXT },
        [O_ORDERKEY] = { "o_orderkey", ORDERS, FIXED },
        [O_CUSTKEY] = { "o_custkey", ORDERS, FIXED },
        [O_ORDERSTATUS] = { "o_orderstatus", ORDERS, TEXT },
        [O_TOTALPRICE] = { "o_totalprice", ORDERS, WRITTEN },
        [O_ORDERDATE] = { "o_orderdate", ORDERS, FIXED },
        [O_ORDERPRIORITY] = { "o_orderpriority", ORDERS, MUTABLE_TEXT },
        [O_CLERK] = { "o_clerk", ORDERS, TEXT },
        [O_SHIPPRIORITY] = { "o_shippriority", ORDERS, FIXED },
        [O_COMMENT] = { "o_comment", ORDERS, TEXT },
        [P_PARTKEY] = { "p_partkey", PART, FIXED },
        [P_NAME] = { "p_name", PART, TEXT },
        [P_MFGR] = { "p_mfgr", PART, TEXT },
        [P_BRAND] = { "p_brand", PART, MUTABLE_TEXT },
        [P_TYPE] = { "p_type", PART, TEXT },
        [P_SIZE] = { "p_size", PART, FIXED },
        [P_CONTAINER] = { "p_container", PART, TEXT },
        [P_RETAILPRICE] = { "p_retailprice", PART, WRITTEN },
        [P_COMMENT] = { "p_comment", PART, TEXT },
};

const struct table_spec table_spec[TABLES] = {
        [LINEITEM] = { "lineitem", L_ORDERKEY, O_ORDERKEY },
        [ORDERS] = { "orders", O_ORDERKEY, P_PARTKEY },
        [PART] = { "part", P_PARTKEY, COLUMNS },
};

int tables_make(struct tables *tables, const uint32_t rows[TABLES])
{
        *tables = (struct tables){ 0 };
        memcpy(tables->rows, rows, sizeof(tables->rows));
        for (int c = 0; c < COLUMNS; c++) {
                const size_t byte_len = tables_column_bytes(tables, c);
                if (byte_len == 0)
                        continue;
                tables->column[c] = aligned_alloc(BLOCK_ROWS * sizeof(int32_t), byte_len);
                if (!tables->column[c])
                        goto fail;
                memset(tables->column[c], 0, byte_len);
        }
        tables->first_line = calloc((size_t)rows[ORDERS] + 1, sizeof(*tables->first_line));
        if (tables->first_line)
                return 0;
fail:
        tables_free(tables);
        return -ENOMEM;
}

void tables_free(struct tables *tables)
{
        for (int c = 0; c < COLUMNS; c++) {
                free(tables->column[c]);
                dictionary_free(&tables->words[c]);
        }
        free(tables->first_line);
        *tables = (struct tables){ 0 };
}
