/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_PRECISION_H
#define BENCH_PAPERS_ANKER_HTAP_PRECISION_H

/*
 * Precision locking (J. R. Jordan, J. Banerjee, R. B. Batman, SIGMOD 1981), as HyPer and AnKerDB use it: a transaction
 * keeps the predicates by which it has read, and when it commits they are held against every write that was committed
 * since it began. It is lost if one of these writes meets one of its predicates.
 *
 *      begin     since = newest                        (and then the snapshot is taken: it may be newer, not older)
 *      commit    lock
 *                validate     commits since + 1 .. newest, against the predicates
 *                             the engine makes the writes visible, or loses to a write of the same place
 *                register     newest + 1 is the commit's sequence: its writes, for those who validate later
 *                unlock
 *
 * So validation, the commit and its place in the list are one step for all others. What a write holds: where, the value
 * before, the value after. It meets a predicate with its row among the predicate's rows if
 *
 *  (a) its column is filtered, and the value before or the one after is within the filter: the row was in the result,
 *      or would be now. With several filters that is more than is needed, never less;
 *  (b) its column is used by the result, and the row passed the filters in the snapshot of the one who validates. Rows
 *      that came into the result since were met by (a).
 *
 * The last RECENT commits are kept. Who began before them is lost.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FILTERS_MAX = 2, PREDICATES_MAX = 12, WRITES_MAX = 12, RECENT = 4096 };

struct filter {
        int column;
        int32_t least, most;
};

/* Rows first_row .. end_row - 1 of a table that pass all filters; and of these the values of some columns, a bit each.
 */
struct predicate {
        int table;
        uint32_t first_row, end_row;
        int filters;
        struct filter filter[FILTERS_MAX];
        uint64_t outputs;
};

struct row_write {
        uint32_t column, row;
        int32_t before, after;
};

struct commit_record {
        uint32_t count;
        struct row_write write[WRITES_MAX];
};

struct precision {
        _Alignas(64) _Atomic uint64_t newest;
        _Alignas(64) pthread_mutex_t lock;
        struct commit_record *recent; /* that of commit s is recent[s % RECENT] */
        int first_validated;          /* 1: the first predicate is forgotten, a hole for tests to find */
};

/* What a transaction has read by, and what it is going to write. */
struct footprint {
        uint64_t since;
        int predicates, writes;
        struct predicate predicate[PREDICATES_MAX];
        struct row_write write[WRITES_MAX];
};

/* The value of a row in the snapshot of the transaction that validates. */
typedef int32_t precision_value(void *session, int column, uint32_t row);

/* 0, or -ENOMEM. */
int precision_open(struct precision *precision, bool has_hole);
void precision_close(struct precision *precision);

static inline uint64_t precision_newest(const struct precision *precision)
{
        return atomic_load_explicit(&precision->newest, memory_order_acquire);
}

static inline void precision_lock(struct precision *precision)
{
        pthread_mutex_lock(&precision->lock);
}

static inline void precision_unlock(struct precision *precision)
{
        pthread_mutex_unlock(&precision->lock);
}

/* May the transaction commit? The caller holds the lock. */
bool precision_may_commit_locked(const struct precision *precision, const struct footprint *footprint,
                                 precision_value *value, void *session);
/* Returns the commit's sequence. The caller holds the lock. */
uint64_t precision_register_locked(struct precision *precision, const struct footprint *footprint);

#endif
