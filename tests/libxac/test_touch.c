/* SPDX-License-Identifier: MIT */
#include "libxac/view/touch.h"

/*
 * What a touch does: a fault of each kind, an announced range, declared access, and what the
 * program sees when the touch cannot be granted (P7: it goes on harmlessly, and the end says why).
 */

#include "rewire/mappings.h"
#include "tests/libxac/view_stand.h"

enum { POOL_SLOTS = 64 };

static int setup(void **state)
{
        (void)state;
        return setup_with(1024, 0);
}

static int setup_small(void **state)
{
        (void)state;
        return setup_with(POOL_SLOTS, 0);
}

static int setup_strict(void **state)
{
        (void)state;
        return setup_with(1024, XAC_STRICT);
}

static int setup_tracking(void **state)
{
        (void)state;
        return setup_with(1024, XAC_TRACK);
}

static enum touch_outcome fault(uint64_t page_no, enum touch_access access)
{
        enum touch_outcome outcome = touch_fault(txn, view, stage_word(view, page_no), access);

        audit();
        return outcome;
}

static uint64_t value_of(uint64_t page_no)
{
        return *(volatile uint64_t *)stage_word(view, page_no);
}

/* ---- Faults ---- */

static void test_reads_and_writes_show_versions(void **state)
{
        const struct row *row = txn->self->row;

        (void)state;
        stage_other_puts(stage, 3, 33);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(fault(3, TOUCH_READ), TOUCH_DONE);
        assert_int_equal(value_of(3), 33);
        assert_int_equal(fault(3, TOUCH_WRITE), TOUCH_DONE);
        assert_int_equal(value_of(3), 33); /* a copy */
        *stage_word(view, 3) = 34;
        assert_int_equal(fault(5, TOUCH_WRITE), TOUCH_DONE);
        assert_int_equal(value_of(5), 0);
        assert_int_equal(atomic_load(&row->read_faults), 1);
        assert_int_equal(atomic_load(&row->write_faults), 2);
        assert_int_equal(txn_end(txn), 0);
        audit();
        assert_int_equal(stage_committed(stage, 3), 34);
}

/* Where the fault does not say it: what is hidden is read, what is readable is written. */
static void test_an_unknown_access_is_inferred(void **state)
{
        const struct row *row = txn->self->row;

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(fault(3, TOUCH_UNKNOWN), TOUCH_DONE);
        assert_int_equal(view_state(view, 3), VIEW_READABLE);
        assert_int_equal(txn->pages.writes.count, 0);
        assert_int_equal(fault(3, TOUCH_UNKNOWN), TOUCH_DONE);
        assert_int_equal(view_state(view, 3), VIEW_WRITABLE);
        assert_int_equal(atomic_load(&row->read_faults), 1);
        assert_int_equal(atomic_load(&row->write_faults), 1);
}

static void test_a_fault_without_a_cause_is_stuck(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(fault(3, TOUCH_WRITE), TOUCH_DONE);
        assert_int_equal(fault(3, TOUCH_WRITE), TOUCH_STUCK); /* it is writable: the next would be the same */
        assert_int_equal(fault(3, TOUCH_READ), TOUCH_STUCK);
}

static void test_beyond_the_file_there_is_nothing(void **state)
{
        uint32_t file_no;
        struct view *small;

        (void)state;
        assert_int_equal(files_open(&stage->engine->files, "small", 3 * ENGINE_PAGE_BYTES, &file_no), 0);
        small = stage_map_file(stage, 0, file_no);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(touch_fault(txn, small, stage_word(small, 2), TOUCH_READ), TOUCH_DONE);
        assert_int_equal(touch_fault(txn, small, stage_word(small, 3), TOUCH_READ), TOUCH_BEYOND);
        assert_int_equal(touch_fault(txn, small, stage_word(small, 3), TOUCH_WRITE), TOUCH_BEYOND);
        assert_true(view_is_hidden(small, 3)); /* a run ends with the file */
        stage_audit(stage, txn, small);
        assert_int_equal(touch_range(txn, stage_word(small, 2), ENGINE_PAGE_BYTES + 1, TOUCH_READ), -EINVAL);
        assert_int_equal(txn->state, TXN_ACTIVE);
        assert_null(touch_page_read(txn, stage_word(small, 3)));
        assert_int_equal(txn_end(txn), XAC_NOVIEW);
}

static void test_between_transactions_a_private_copy_is_shown(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 33);
        assert_int_equal(fault(3, TOUCH_READ), TOUCH_DONE);
        assert_true(view_is_stray(view, 3));
        assert_int_equal(value_of(3), 33);
        *stage_word(view, 3) = 99;
        assert_int_equal(txn_begin(txn, 0), 0);
        audit();
        assert_int_equal(stage_load(txn, view, 3), 33);
        assert_int_equal(txn_end(txn), 0);
}

static void test_strict_shows_nothing_between_transactions(void **state)
{
        (void)state;
        assert_int_equal(fault(3, TOUCH_READ), TOUCH_OUTSIDE);
        assert_int_equal(txn_begin(txn, 0), 0);
        stage_load(txn, view, 3);
        stage_store(txn, view, 4, 4);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(stage_audit(stage, txn, view), 1);
        assert_int_equal(fault(4, TOUCH_WRITE), TOUCH_OUTSIDE);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(stage_load(txn, view, 4), 4);
        assert_int_equal(txn_abort(txn), 0);
        assert_int_equal(stage_audit(stage, txn, view), 1);
}

static void test_a_write_in_a_read_only_transaction_goes_nowhere(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 33);
        assert_int_equal(txn_begin(txn, XAC_RDONLY), 0);
        assert_int_equal(fault(3, TOUCH_WRITE), TOUCH_DONE);
        *stage_word(view, 3) = 99;
        assert_int_equal(value_of(3), 99); /* the program goes on with what it stored */
        assert_int_equal(txn->state, TXN_DOOMED);
        assert_int_equal(txn_end(txn), XAC_WROTE);
        audit();
        assert_int_equal(stage_committed(stage, 3), 33);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(stage_load(txn, view, 3), 33);
}

/* The whole life of two stores and a load, with a transaction that has no memory yet. */
static int run_fresh(struct txn *fresh, int nth)
{
        assert_int_equal(txn_init(fresh, txn->self, txn->files, txn->mapper, txn->views, 0), 0);
        assert_int_equal(txn_begin(fresh, 0), 0);
        (void)mappings_drop_ballast(); /* what has it succeeds at the second try */
        scratch_fail(nth, -ENOMEM, 0);
        stage_load(fresh, view, 3);
        stage_store(fresh, view, 3, 1);
        stage_store(fresh, view, 40, 1);
        sys_fail = NULL;
        assert_int_equal(value_of(40), 1);
        stage_audit(stage, fresh, view);
        return txn_end(fresh);
}

/* P7: whichever allocation fails, the fault is mended, and the end says why if it must. */
static void test_every_allocation_of_a_fault_may_fail(void **state)
{
        int nth = 0, dooms = 0, err;

        (void)state;
        do {
                struct txn fresh;

                assert_int_equal(view_reset(view), 0);
                err = run_fresh(&fresh, ++nth);
                assert_true(err == 0 || err == -ENOMEM);
                dooms += err != 0;
                stage_audit(stage, &fresh, view);
                txn_free(&fresh);
                assert_int_equal(stage_committed(stage, 40), err == 0);
                stage_other_puts(stage, 40, 0);
        } while (scratch_failed());
        assert_int_equal(err, 0);
        assert_true(dooms > 2);
        engine_assert_nothing_leaked(stage->engine);
}

/* ---- A full pool ---- */

/* Others' pages go home, from within the fault, and make room. */
static void test_a_full_pool_is_first_answered_by_going_home(void **state)
{
        (void)state;
        for (uint64_t page_no = 100; page_no < 145; page_no++)
                stage_other_puts(stage, page_no, page_no);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(stage_load(txn, view, 100), 100); /* is in use: stays where it is */
        for (uint64_t page_no = 0; page_no < 50; page_no++)
                stage_store(txn, view, page_no, page_no + 1);
        audit();
        assert_int_equal(value_of(100), 100);
        assert_int_equal(stage_load(txn, view, 144), 144);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(stage_committed(stage, 49), 50);
}

static void test_a_pool_of_its_own_pages_is_full(void **state)
{
        uint64_t page_no = 0;

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        for (; txn->state == TXN_ACTIVE; page_no++)
                stage_store(txn, view, page_no, page_no + 1);
        assert_int_equal(page_no, POOL_SLOTS); /* slot 0 is home; the last store is stray */
        for (uint64_t i = 0; i < page_no; i++)
                assert_int_equal(value_of(i), i + 1);
        stage_store(txn, view, 500, 1);
        audit();
        assert_int_equal(txn_end(txn), XAC_FULL);
        audit();
        engine_assert_nothing_leaked(stage->engine);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(stage_load(txn, view, 0), 0);
        stage_store(txn, view, 0, 7);
        assert_int_equal(txn_end(txn), 0);
}

/* ---- Announced access ---- */

static int mmap_calls;

static int count_mmaps(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        mmap_calls += call == SYS_MMAP;
        return 0;
}

static void test_an_announced_range_takes_no_fault(void **state)
{
        enum { PAGES = 200 };
        const struct row *row = txn->self->row;

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        mmap_calls = 0;
        sys_fail = count_mmaps;
        char *inside = (char *)stage_word(view, 10) + 5;
        assert_int_equal(touch_range(txn, inside, PAGES * ENGINE_PAGE_BYTES - 5, TOUCH_WRITE), 0);
        sys_fail = NULL;
        assert_true(mmap_calls < PAGES / 2); /* slots that follow each other are mapped at once */
        audit();
        for (uint64_t page_no = 10; page_no < 10 + PAGES; page_no++) {
                assert_int_equal(view_state(view, page_no), VIEW_WRITABLE);
                *stage_word(view, page_no) = page_no;
        }
        assert_true(view_is_hidden(view, 9));
        assert_true(view_is_hidden(view, 10 + PAGES));
        assert_int_equal(touch_range(txn, stage_word(view, 300), 3 * ENGINE_PAGE_BYTES, TOUCH_READ), 0);
        assert_int_equal(view_state(view, 302), VIEW_READABLE);
        assert_int_equal(atomic_load(&row->write_faults) + atomic_load(&row->read_faults), 0);
        assert_int_equal(txn_end(txn), 0);
        for (uint64_t page_no = 10; page_no < 10 + PAGES; page_no++)
                assert_int_equal(stage_committed(stage, page_no), page_no);
}

static void test_a_range_that_is_none_is_refused(void **state)
{
        char elsewhere[16];

        (void)state;
        assert_int_equal(touch_range(txn, view->base, 1, TOUCH_READ), XAC_NOTXN);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(touch_range(txn, elsewhere, sizeof(elsewhere), TOUCH_READ), XAC_NOVIEW);
        assert_int_equal(touch_range(txn, view->base, 0, TOUCH_READ), 0);
        assert_int_equal(touch_range(txn, view->base + 8, SIZE_MAX, TOUCH_READ), -EINVAL);
        assert_int_equal(touch_range(txn, view->base, view->reserve_bytes + 1, TOUCH_READ), -EINVAL);
        assert_int_equal(view->listed.count, 0);
        assert_int_equal(txn_end(txn), 0); /* asking wrongly dooms nothing */
        assert_int_equal(txn_begin(txn, XAC_RDONLY), 0);
        assert_int_equal(touch_range(txn, view->base, 1, TOUCH_WRITE), XAC_WROTE);
        assert_int_equal(txn_end(txn), 0);
}

static void test_a_range_that_does_not_fit_dooms(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(touch_range(txn, view->base, 100 * ENGINE_PAGE_BYTES, TOUCH_WRITE), XAC_FULL);
        assert_int_equal(txn->state, TXN_DOOMED);
        audit();
        assert_int_equal(txn_end(txn), XAC_FULL);
        engine_assert_nothing_leaked(stage->engine);
}

/* ---- Declared access ---- */

static void test_declared_access_needs_no_mapping(void **state)
{
        char *bytes;
        const char *again;

        (void)state;
        stage_other_puts(stage, 3, 33);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(*(const uint64_t *)touch_page_read(txn, stage_word(view, 3)), 33);
        bytes = touch_page_write(txn, (char *)stage_word(view, 3) + 100);
        again = touch_page_read(txn, stage_word(view, 3));
        assert_ptr_equal(bytes, again + 100); /* the very byte that was named */
        memset(bytes, 7, 8);
        assert_int_equal(view->listed.count, 0);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(((const char *)touch_page_read(txn, stage_word(view, 3)))[103], 7);
}

static void test_plain_and_declared_access_agree(void **state)
{
        uint64_t *bytes;

        (void)state;
        stage_other_puts(stage, 3, 33);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(stage_load(txn, view, 3), 33); /* the view shows the published version */
        bytes = touch_page_write(txn, stage_word(view, 3));
        *bytes = 34;
        audit();
        assert_int_equal(stage_load(txn, view, 3), 34);
        stage_store(txn, view, 3, 35);
        assert_int_equal(*bytes, 35);
        assert_ptr_equal(touch_page_write(txn, stage_word(view, 3)), bytes);
        assert_int_equal(view_state(view, 3), VIEW_WRITABLE); /* it shows that slot already */
        stage_store(txn, view, 7, 70);
        assert_int_equal(*(const uint64_t *)touch_page_read(txn, stage_word(view, 7)), 70);

        assert_int_equal(txn_begin(txn, 0), 0);
        bytes = touch_page_write(txn, stage_word(view, 7)); /* an inner level has its own */
        *bytes = 71;
        audit();
        assert_int_equal(stage_load(txn, view, 7), 71);
        assert_int_equal(txn_abort(txn), 0);
        assert_int_equal(stage_load(txn, view, 7), 70);
        assert_int_equal(txn_end(txn), 0);
}

/* P2: also where what it writes has no place but a private copy in the view. */
static void test_plain_and_declared_access_agree_in_a_doomed_transaction(void **state)
{
        uint64_t page_no = 0, *word;

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        for (; txn->state == TXN_ACTIVE; page_no++)
                stage_store(txn, view, page_no, page_no + 1);
        word = stage_word(view, --page_no);
        assert_true(view_is_stray(view, page_no));
        assert_int_equal(*(const uint64_t *)touch_page_read(txn, word), page_no + 1);
        *(uint64_t *)touch_page_write(txn, word) = 99;
        assert_int_equal(value_of(page_no), 99);
        stage_store(txn, view, page_no, 100);
        assert_int_equal(*(const uint64_t *)touch_page_read(txn, word), 100);
        assert_int_equal(txn_end(txn), XAC_FULL);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(*(const uint64_t *)touch_page_read(txn, word), 0);
        assert_int_equal(stage_load(txn, view, page_no), 0);
        assert_int_equal(txn_end(txn), 0);
}

static void test_declared_access_that_is_refused_dooms(void **state)
{
        uint64_t elsewhere = 0;

        (void)state;
        assert_null(touch_page_read(txn, view->base));
        assert_null(touch_page_write(txn, view->base));
        assert_int_equal(txn->state, TXN_IDLE);

        assert_int_equal(txn_begin(txn, 0), 0);
        assert_null(touch_page_write(txn, &elsewhere));
        assert_int_equal(txn_end(txn), XAC_NOVIEW);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_null(touch_page_read(txn, &elsewhere));
        assert_int_equal(txn_end(txn), XAC_NOVIEW);
        assert_int_equal(txn_begin(txn, XAC_RDONLY), 0);
        assert_null(touch_page_write(txn, view->base));
        assert_int_equal(txn_end(txn), XAC_WROTE);
}

static void test_pages_in_use_are_known(void **state)
{
        const uint32_t file_no = view->file_no;

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        stage_store(txn, view, 3, 1);
        touch_page_read(txn, stage_word(view, 40));
        assert_true(touch_uses_page(txn, page_id(file_no, 3)));
        assert_true(touch_uses_page(txn, page_id(file_no, 40)));
        assert_false(touch_uses_page(txn, page_id(file_no, 41)));
        assert_false(touch_uses_page(txn, page_id(file_no + 1, 3)));
        assert_false(touch_uses_page(txn, page_id(file_no, ENGINE_PAGES + 3))); /* beyond the reservation */
}

#define TOUCH_TEST_AS(name, how) cmocka_unit_test_setup_teardown(name, how, teardown)
#define TOUCH_TEST(name)         TOUCH_TEST_AS(name, setup)
#define TOUCH_TEST_SMALL(name)   TOUCH_TEST_AS(name, setup_small)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TOUCH_TEST(test_reads_and_writes_show_versions),
                TOUCH_TEST(test_an_unknown_access_is_inferred),
                TOUCH_TEST(test_a_fault_without_a_cause_is_stuck),
                TOUCH_TEST(test_beyond_the_file_there_is_nothing),
                TOUCH_TEST(test_between_transactions_a_private_copy_is_shown),
                TOUCH_TEST_AS(test_strict_shows_nothing_between_transactions, setup_strict),
                TOUCH_TEST(test_a_write_in_a_read_only_transaction_goes_nowhere),
                TOUCH_TEST(test_every_allocation_of_a_fault_may_fail),
                TOUCH_TEST_AS(test_every_allocation_of_a_fault_may_fail, setup_tracking),
                TOUCH_TEST_SMALL(test_a_full_pool_is_first_answered_by_going_home),
                TOUCH_TEST_SMALL(test_a_pool_of_its_own_pages_is_full),
                TOUCH_TEST(test_an_announced_range_takes_no_fault),
                TOUCH_TEST(test_a_range_that_is_none_is_refused),
                TOUCH_TEST_SMALL(test_a_range_that_does_not_fit_dooms),
                TOUCH_TEST(test_declared_access_needs_no_mapping),
                TOUCH_TEST(test_plain_and_declared_access_agree),
                TOUCH_TEST_SMALL(test_plain_and_declared_access_agree_in_a_doomed_transaction),
                TOUCH_TEST(test_declared_access_that_is_refused_dooms),
                TOUCH_TEST(test_pages_in_use_are_known),
        };

        return cmocka_run_group_tests_name("libxac/touch", tests, NULL, NULL);
}
