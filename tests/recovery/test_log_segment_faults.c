/* SPDX-License-Identifier: MIT */
#include "recovery/log_segments.h"

/*
 * Whatever fails and whoever dies while a segment file is made or recycled: no two files ever claim the same
 * segment, none is lost for good, and the next one to come goes on.
 */

#include "tests/recovery/segment_stand.h"

#include "tests/recovery/log_deaths.h"

/* ---- Failures ---- */

/* Each call of extend fails in turn, once or for good; then extend is called again. */
static void every_call_fails(int error, bool for_good, bool is_recycled)
{
        for (int nth = 1;; nth++) {
                start_anew();
                assert_int_equal(extend_to(3), 0);
                if (is_recycled)
                        log_segments_recycle(&segments, ME, 2 * SEG, 10 * SEG);
                scratch_fail(nth, error, for_good);
                int err = extend_to(4);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        break;
                }
                assert_int_equal(err, error);
                assert_int_equal(limit(), 3);
                assert_int_equal(atomic_load(&stand_table()->lock.word), 0);
                assert_sound();
                assert_int_equal(extend_to(5), 0);
                assert_sound();
                assert_int_equal(atomic_load(&stand_table()->pending), 0);
                assert_int_equal(count_files(), (int)(limit() - low() + free_count()));
                assert_int_equal(stand_load(low() * SEG, 4 * SEG), 0);
                assert_int_equal(limit(), 5);
        }
}

static void test_a_failure_while_making_one_is_told_and_harmless(void **state)
{
        (void)state;
        every_call_fails(-EIO, false, false);
        every_call_fails(-EIO, true, false);
        every_call_fails(-EIO, false, true);
        every_call_fails(-EIO, true, true);
        every_call_fails(-ENOSPC, true, false);
        every_call_fails(-EMFILE, true, true);
}

static void test_no_space_leaves_no_garbage(void **state)
{
        (void)state;
        scratch_fail(4, -ENOSPC, 0); /* open, chmod, stat of nothing: some write or other */
        assert_int_equal(extend_to(3), -ENOSPC);
        assert_true(scratch_failed());
        assert_int_equal(count_files(), 1);
}

/* ---- Deaths ---- */

static int extend_and_die(void *arg)
{
        struct log_segments mine;

        log_segments_init(&mine, stand_table(), directory, 0600, &stand_liveness);
        die_in_call(*(int *)arg);
        return log_segments_extend(&mine, DEAD, 4 * SEG) ? 2 : 0;
}

/* At each system call of extend, with and without a file to recycle. */
static void test_a_death_while_making_one(void **state)
{
        (void)state;
        for (int is_recycled = 0; is_recycled < 2; is_recycled++) {
                bool has_died = true;

                for (int nth = 1; has_died; nth++) {
                        start_anew();
                        assert_int_equal(extend_to(3), 0);
                        if (is_recycled)
                                log_segments_recycle(&segments, ME, 2 * SEG, 10 * SEG);
                        has_died = child_died(DEAD, extend_and_die, &nth);
                        assert_int_equal(extend_to(5), 0);
                        assert_sound();
                        assert_int_equal(stand_load(low() * SEG, 4 * SEG), 0);
                        assert_int_equal(limit(), 5);
                        assert_int_equal(count_files(), (int)(limit() - low() + free_count()));
                        assert_sound();
                }
        }
}

static void recycle_two(void *arg)
{
        log_segments_recycle(arg, DEAD, 3 * SEG, SEG);
}

static void extend_by_two(void *arg)
{
        (void)log_segments_extend(arg, DEAD, 6 * SEG);
}

static int step_and_die(void *arg)
{
        struct log_segments mine;

        log_segments_init(&mine, stand_table(), directory, 0600, &stand_liveness);
        return step_to_death(arg, &mine);
}

/* At any instruction: what is left is sound, and the same work done again ends well. */
static void die_stepwise(void (*body)(void *arg), int stride)
{
        bool has_died = true;

        for (int nth = 4; has_died; nth += stride * STEP_SPREAD) {
                start_anew();
                assert_int_equal(extend_to(4), 0);
                has_died = child_died(DEAD, step_and_die, &(struct stepping){ nth, body });
                assert_sound();
                log_segments_recycle(&segments, ME, 3 * SEG, SEG);
                assert_int_equal(extend_to(6), 0);
                assert_sound();
                assert_int_equal(low(), 3);
                assert_int_equal(limit(), 6);
                assert_int_equal(stand_load(3 * SEG, 4 * SEG), 0);
                assert_sound();
        }
}

static void test_a_death_while_recycling(void **state)
{
        (void)state;
        if (!step_is_possible())
                skip();
        die_stepwise(recycle_two, 37);
}

static void test_a_death_at_some_instruction_of_extend(void **state)
{
        (void)state;
        if (!step_is_possible())
                skip();
        die_stepwise(extend_by_two, 293);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_failure_while_making_one_is_told_and_harmless, setup_in_memory,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_no_space_leaves_no_garbage, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_death_while_making_one, setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_a_death_while_recycling, setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_a_death_at_some_instruction_of_extend, setup_in_memory, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
