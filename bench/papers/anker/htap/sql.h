/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_SQL_H
#define BENCH_PAPERS_ANKER_HTAP_SQL_H

/*
 * The same transactions and queries as SQL, for SQLite (sqlite.c) and DuckDB (duckdb_baseline.py): a statement each,
 * with parameters $1, $2, ... in the order in which they first appear. All columns are integers, as in tables.h.
 */

#include <stdio.h>

#include "bench/papers/anker/htap/olap.h"
#include "bench/papers/anker/htap/oltp.h"

enum { SQL_TEXT = 1024, SQL_PARAMS = 5 };

extern const char *const sql_oltp[OLTP_KINDS];

/* Of a query. */
void sql_olap(enum olap_kind kind, char text[SQL_TEXT]);
/* CREATE TABLE with the table's key. */
void sql_create(enum table_no table, const char *suffix, char text[SQL_TEXT]);

/* How many. */
int sql_oltp_params(const struct tables *tables, const struct oltp *oltp, int32_t param[SQL_PARAMS]);
int sql_olap_params(const struct olap *olap, int32_t param[SQL_PARAMS]);

#endif
