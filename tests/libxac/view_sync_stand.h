/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_VIEW_SYNC_STAND_H
#define TESTS_UNIT_VIEW_SYNC_STAND_H

/* Transactions of participant 0 whose view is audited when they begin and when they end. */

#include "tests/libxac/view_stand.h"

#define SYNC_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline int setup(void **state)
{
        (void)state;
        return setup_with(1900, 0);
}

static inline void begin(void)
{
        assert_int_equal(txn_begin(txn, 0), 0);
        audit();
}

static inline void end(int expected)
{
        assert_int_equal(txn_end(txn), expected);
        audit();
}

/* A transaction that reads one page and writes another. */
static inline int read_and_write(uint64_t read_no, uint64_t write_no)
{
        begin();
        stage_load(txn, view, read_no);
        stage_store(txn, view, write_no, write_no);
        return txn_end(txn);
}

#endif
