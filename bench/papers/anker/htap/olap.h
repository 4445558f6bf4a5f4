/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_OLAP_H
#define BENCH_PAPERS_ANKER_HTAP_OLAP_H

/*
 * Seven queries: Q1, Q4, Q6 and Q17 of TPC-H with random parameters within its bounds, and a scan of each table, which
 * adds up every column. Each runs over any reader, block by block; what it does with a block does not depend on the
 * engine. Answers are exact integers: sums and counts stand for averages.
 */

#include <stdint.h>

#include "bench/papers/anker/htap/engine.h"

enum olap_kind { OLAP_Q1, OLAP_Q4, OLAP_Q6, OLAP_Q17, OLAP_LINEITEM, OLAP_ORDERS, OLAP_PART, OLAP_KINDS };

enum { OLAP_PARAMS = 5, ANSWER_ROWS = 6, ANSWER_COLUMNS = 16 };

extern const char *const olap_name[OLAP_KINDS];

/*
 *      Q1      param[0]: shipped at this day at the latest
 *      Q4      ordered from day param[0] to day param[1] - 1
 *      Q6      shipped from day param[0] to day param[1] - 1, discount from param[2] to param[3], fewer than param[4]
 *      Q17     of brand param[0], in container param[1]
 */
struct olap {
        enum olap_kind kind;
        int32_t param[OLAP_PARAMS];
};

struct answer {
        int rows, columns;
        int64_t value[ANSWER_ROWS][ANSWER_COLUMNS];
};

struct olap olap_draw(enum olap_kind only, uint64_t *random);

/* 0, or -ENOMEM. */
int olap_run(const struct reader *reader, const struct tables *tables, const struct olap *olap, struct answer *answer);
bool answer_is_equal(const struct answer *a, const struct answer *b);

#endif
