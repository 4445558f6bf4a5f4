/* SPDX-License-Identifier: MIT */
#include "libxac/txn/patience.h"

/*
 * What a participant remembers of lost races, who is exclusive in the end, and how it is forgotten.
 */

#include "tests/libxac/stage.h"

#include "libxac/store/exclusion.h"

#define SECOND_NS UINT64_C(1000000000)

static struct stage *stage;
static struct txn *txn;
static struct patience *patience;
static struct view *view;

static int setup(void **state)
{
        (void)state;
        stage = stage_start(1024, 0);
        txn = &stage->txn[0];
        patience = &txn->patience;
        view = stage_map(stage, 0);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        stage_stop(stage);
        return 0;
}

static bool is_exclusive(void)
{
        return exclusion_holds(txn->self);
}

static bool nobody_is_exclusive(void)
{
        return atomic_load(&stage->engine->shared.control->exclusive) == 0;
}

static void begin(int flags)
{
        assert_int_equal(txn_begin(txn, flags), 0);
}

/* A transaction that somebody else overtakes; he asks nobody. */
static void lose(void)
{
        static uint64_t value;

        begin(0);
        stage_store(txn, view, 3, stage_load(txn, view, 3) + 1);
        stage_other_puts(stage, 3, ++value);
        assert_int_equal(txn_end(txn), XAC_CONFLICT);
        assert_true(nobody_is_exclusive());
}

static void lose_often(uint32_t losses)
{
        for (uint32_t i = 0; i < losses; i++)
                lose();
        assert_int_equal(patience->losses, losses < PATIENCE_LOSSES_MAX ? losses : PATIENCE_LOSSES_MAX);
}

static void succeed(void)
{
        begin(0);
        stage_store(txn, view, 3, stage_load(txn, view, 3) + 1);
        assert_int_equal(txn_end(txn), 0);
}

static void expect_forgotten(void)
{
        assert_int_equal(patience->losses, 0);
        assert_true(nobody_is_exclusive());
        begin(0);
        assert_true(nobody_is_exclusive());
        assert_int_equal(txn_end(txn), 0);
}

/* ---- How it grows ---- */

static void test_after_sixteen_losses_it_is_exclusive(void **state)
{
        (void)state;
        for (uint32_t i = 0; i < PATIENCE_LOSSES_MAX; i++) {
                begin(0);
                assert_false(is_exclusive());
                assert_int_equal(txn_abort(txn), 0);
                lose_often(i);
                succeed();
        }
        lose_often(PATIENCE_LOSSES_MAX);
        begin(0);
        assert_true(is_exclusive());
        stage_store(txn, view, 3, 1);
        assert_int_equal(txn_end(txn), 0);
        expect_forgotten();
}

/* It may lose once more when its exclusiveness has lapsed. */
static void test_until_it_succeeds(void **state)
{
        (void)state;
        lose_often(PATIENCE_LOSSES_MAX + 5);
        begin(0);
        assert_true(is_exclusive());
        assert_int_equal(txn_abort(txn), 0);
}

static void test_levels_inside_change_nothing(void **state)
{
        (void)state;
        lose_often(PATIENCE_LOSSES_MAX);
        begin(0);
        begin(0);
        stage_store(txn, view, 3, 1);
        assert_int_equal(txn_abort(txn), 0);
        begin(0);
        assert_int_equal(txn_end(txn), 0);
        assert_true(is_exclusive());
        assert_int_equal(patience->losses, PATIENCE_LOSSES_MAX);
        assert_int_equal(txn_end(txn), 0);
        expect_forgotten();
}

/* P3 */
static void test_readers_take_no_part(void **state)
{
        (void)state;
        lose_often(PATIENCE_LOSSES_MAX);
        begin(XAC_RDONLY);
        assert_true(nobody_is_exclusive());
        stage_load(txn, view, 3);
        assert_int_equal(txn_end(txn), 0);
        begin(XAC_RDONLY);
        txn_abort_for(txn, 0, XAC_CONFLICT);
        begin(XAC_RDONLY);
        assert_int_equal(txn_abort(txn), 0);
        assert_int_equal(patience->losses, PATIENCE_LOSSES_MAX);
        begin(0);
        assert_true(is_exclusive());
        assert_int_equal(txn_end(txn), 0);
}

/* A body of xac_run that wants to be run again. */
static void test_giving_up_may_be_a_loss(void **state)
{
        (void)state;
        begin(0);
        begin(0);
        txn_abort_for(txn, 0, XAC_CONFLICT);
        assert_int_equal(patience->losses, 1);
        begin(0);
        txn_abort_for(txn, 0, -1);
        expect_forgotten();
}

/* ---- How it is forgotten ---- */

static void test_a_success_is_the_end_of_it(void **state)
{
        (void)state;
        lose_often(3);
        succeed();
        expect_forgotten();
        lose_often(3);
        begin(0); /* also one that has not written */
        assert_int_equal(txn_end(txn), 0);
        expect_forgotten();
}

static void test_so_is_an_abort(void **state)
{
        (void)state;
        lose_often(3);
        begin(0);
        assert_int_equal(txn_abort(txn), 0);
        expect_forgotten();
        lose_often(PATIENCE_LOSSES_MAX);
        begin(0);
        begin(0);
        txn_abort_all(txn);
        expect_forgotten();
}

static void test_so_is_a_failure(void **state)
{
        (void)state;
        lose_often(PATIENCE_LOSSES_MAX);
        begin(0);
        assert_true(is_exclusive());
        txn_doom(txn, XAC_FULL);
        assert_true(is_exclusive());
        assert_int_equal(txn_end(txn), XAC_FULL);
        expect_forgotten();
}

static void test_so_is_a_second_without_a_try(void **state)
{
        (void)state;
        lose_often(PATIENCE_LOSSES_MAX);
        patience->lost_ns -= SECOND_NS + 1;
        begin(0);
        assert_true(nobody_is_exclusive());
        assert_int_equal(patience->losses, 0);
        assert_int_equal(txn_end(txn), 0);
}

static int refuse_mmap(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP || call == SYS_MPROTECT ? -ENOMEM : 0;
}

static void test_what_cannot_begin_is_not_exclusive(void **state)
{
        (void)state;
        lose_often(PATIENCE_LOSSES_MAX);
        stage_load(txn, view, 3);
        stage_other_puts(stage, 3, 0); /* to be hidden at the next begin */
        sys_fail = refuse_mmap;
        assert_int_equal(txn_begin(txn, 0), -ENOMEM);
        sys_fail = NULL;
        assert_true(nobody_is_exclusive());
        assert_int_equal(patience->losses, PATIENCE_LOSSES_MAX);
        begin(0);
        assert_true(is_exclusive());
        assert_int_equal(txn_end(txn), 0);
}

#define PATIENCE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                PATIENCE_TEST(test_after_sixteen_losses_it_is_exclusive),
                PATIENCE_TEST(test_until_it_succeeds),
                PATIENCE_TEST(test_levels_inside_change_nothing),
                PATIENCE_TEST(test_readers_take_no_part),
                PATIENCE_TEST(test_giving_up_may_be_a_loss),
                PATIENCE_TEST(test_a_success_is_the_end_of_it),
                PATIENCE_TEST(test_so_is_an_abort),
                PATIENCE_TEST(test_so_is_a_failure),
                PATIENCE_TEST(test_so_is_a_second_without_a_try),
                PATIENCE_TEST(test_what_cannot_begin_is_not_exclusive),
        };
        return cmocka_run_group_tests_name("patience", tests, NULL, NULL);
}
