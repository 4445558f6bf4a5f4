/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HTAP_HISTORY_H
#define TESTS_HTAP_HISTORY_H

/*
 * Histories of random transactions on an engine of bench/papers/anker/htap, with what each has read by predicates, and
 * a checker: is what they have read what they would have read, had they run one after the other in the order of their
 * commits?
 *
 * The tables are ORDERS alone: BLOCKS blocks, in each of which a few rows are hot. A hot row has a priority and a
 * price; all others have priority -1, which no predicate passes.
 *
 *      a read      count and sum of o_totalprice, of the rows of some blocks with a priority from .. to
 *      a write     the price or the priority of a hot row becomes what follows from what was read
 *
 * A transaction that has written is known by its place among the commits. One that has only read, or a query on a
 * snapshot, saw some state between two places: one of these must explain all that it has read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bench/papers/anker/htap/engine.h"

enum { BLOCKS = 8, HOT_PER_BLOCK = 4, HOT_ROWS = BLOCKS * HOT_PER_BLOCK, HOT_STRIDE = BLOCK_ROWS / HOT_PER_BLOCK };
enum { PRIORITIES = 6, READS_MAX = 2, HISTORY_WRITES = 2 };

struct history_read {
        struct predicate predicate;
        int64_t count, sum;
};

struct history_entry {
        uint64_t sequence;     /* of the commit; 0: it has not written */
        uint64_t after, until; /* then: the states that it may have seen */
        int reads, writes;
        struct history_read read[READS_MAX];
        struct row_write write[HISTORY_WRITES];
};

struct history {
        struct history_entry *entry;
        size_t count, room;
};

struct history_plan {
        const struct engine_ops *ops;
        struct engine_plan engine;
        int threads;
        uint64_t transactions; /* of each thread */
        uint64_t seed;
};

static inline uint32_t hot_row(int hot)
{
        return (uint32_t)hot * HOT_STRIDE;
}

/* The hot rows as they are at first. */
int32_t history_first_priority(int hot);
int32_t history_first_price(int hot);

/* Runs the transactions on an engine of its own. */
void history_run(const struct history_plan *plan, struct history *history);
void history_free(struct history *history);

/* Is there a serial order that explains it? If not, says what does not fit, unless `is_quiet`. */
bool history_is_serial(struct history *history, bool is_quiet);

#endif
