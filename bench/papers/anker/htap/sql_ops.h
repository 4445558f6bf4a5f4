/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_SQL_OPS_H
#define BENCH_PAPERS_ANKER_HTAP_SQL_OPS_H

#include "bench/papers/anker/htap/sql.h"

/* A database of rows that takes SQL. All its functions end the program on failure. */
struct sql_ops {
        void *(*open)(const char *directory, const struct tables *tables);
        void (*close)(void *database);
        void *(*join)(void *database);
        void (*leave)(void *seat);
        void (*oltp)(void *seat, const struct oltp *oltp);
        void (*olap)(void *seat, const struct olap *olap, struct answer *answer);
};

extern const struct sql_ops sql_sqlite;

#endif
