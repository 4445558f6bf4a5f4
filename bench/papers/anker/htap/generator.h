/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_GENERATOR_H
#define BENCH_PAPERS_ANKER_HTAP_GENERATOR_H

/*
 * Fills LINEITEM, ORDERS and PART with what the specification of TPC-H (section 4.2.3) says about the distribution of
 * their values, where a query or a transaction could notice. A generator of its own: keys are dense, and comments and
 * names are shorter and made of fewer words.
 */

#include <stdint.h>

#include "bench/papers/anker/htap/tables.h"

enum { PARTS_PER_SCALE = 200000, ORDERS_PER_SCALE = 1500000 };

/* What was given by permille of TPC-H's scale factor. 0, or -ENOMEM. The same seed makes the same tables. */
int generator_run(struct tables *tables, uint64_t scale_permille, uint64_t seed);

#endif
