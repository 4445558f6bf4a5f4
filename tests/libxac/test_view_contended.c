/* SPDX-License-Identifier: MIT */
#include "libxac/view/view_sync.h"

/*
 * Views of which others change pages: when a view becomes exact and stops being so, and which pages are hidden
 * before each attempt. Home runs map sixteen pages around the one that is read, so "a neighbour" below is a page
 * that is in M although nobody touched it.
 */

#include "tests/libxac/view_sync_stand.h"

enum {
        EXACT_MAX = 8, /* commits that are exact at most, after an attempt that was perhaps lost */
        CONTENDED = 7  /* so often a page is hidden again, after a change by another */
};

static int setup_tracking(void **state)
{
        (void)state;
        return setup_with(1900, XAC_TRACK);
}

/* ---- Exactness ---- */

static void test_a_perhaps_lost_attempt_is_repeated_exactly(void **state)
{
        (void)state;
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        assert_true(view_in_m(view, 4));
        stage_other_puts(stage, 4, 9);
        end(XAC_CONFLICT); /* only perhaps: nobody read page 4 */

        begin();
        assert_true(view->is_exact);
        assert_int_equal(view->listed.count, 0); /* every first touch faults */
        stage_load(txn, view, 3);
        assert_false(view_in_m(view, 2)); /* and shows one page */
        assert_non_null(txn_pages_find(&txn->pages, page_id(view->file_no, 3)));
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 4, 10);
        stage_other_puts(stage, 2, 10);
        end(0);
}

static void test_an_exact_attempt_that_lost_has_lost(void **state)
{
        (void)state;
        view->exact_left = 1;
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 3, 10);
        end(XAC_CONFLICT);
        assert_int_equal(view->exact_left, 1); /* for certain: no reason to look closer for longer */
}

/* A neighbour is changed that has not been before. */
static void lose_perhaps(uint64_t neighbour)
{
        begin();
        assert_false(view->is_exact);
        stage_load(txn, view, neighbour - 1);
        stage_store(txn, view, 400, 1);
        stage_other_puts(stage, neighbour, 9);
        end(XAC_CONFLICT);
}

static void commit_exactly(uint32_t times)
{
        for (uint32_t i = 0; i < times; i++) {
                assert_int_equal(view->exact_left, times - i);
                assert_int_equal(read_and_write(3, 400), 0);
                assert_true(view->is_exact);
        }
        assert_int_equal(view->exact_left, 0);
}

static void test_exactness_wears_off(void **state)
{
        (void)state;
        lose_perhaps(4);
        commit_exactly(1);
        assert_int_equal(read_and_write(3, 400), 0);
        assert_false(view->is_exact);
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 400, 1);
        stage_other_puts(stage, 3, 9);
        end(XAC_CONFLICT);
}

/* It lasts longer where it is needed again at once, and less long each time it is not. */
static void test_exactness_lasts_as_long_as_it_pays(void **state)
{
        uint64_t neighbour = 17;

        (void)state;
        for (uint32_t times = 1; times <= 2 * EXACT_MAX; times *= 2, neighbour += 16) {
                lose_perhaps(neighbour);
                commit_exactly(times < EXACT_MAX ? times : EXACT_MAX);
        }
        for (uint32_t i = 0; i < 2; i++) {
                assert_int_equal(read_and_write(3, 400), 0);
                assert_false(view->is_exact);
        }
        lose_perhaps(neighbour);
        commit_exactly(EXACT_MAX / 4);
}

/* ---- Contended pages ---- */

/* The page of another is in M only while this one has read it. */
static void test_a_page_that_others_change_does_not_stay_in_m(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 1);
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        end(0);
        stage_other_puts(stage, 3, 2);
        begin();
        assert_int_equal(stage_load(txn, view, 3), 2);
        stage_store(txn, view, 40, 2);
        end(0);
        begin();
        assert_true(view_is_hidden(view, 3));
        assert_true(view_is_readable(view, 40));
        assert_false(view_in_m(view, 3));
        stage_store(txn, view, 40, 3);
        stage_other_puts(stage, 3, 3);
        end(0); /* not even perhaps lost */
}

static void test_a_page_that_others_leave_alone_stays(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 1);
        assert_int_equal(read_and_write(3, 40), 0);
        stage_other_puts(stage, 3, 2);
        for (int i = 0; i <= CONTENDED; i++) {
                begin();
                assert_true(view_is_hidden(view, 3));
                stage_load(txn, view, 3);
                end(0);
        }
        begin();
        assert_true(view_is_readable(view, 3));
        end(0);
        stage_other_puts(stage, 3, 3);
        for (int i = 0; i < 2; i++) {
                begin();
                assert_true(view_is_hidden(view, 3));
                stage_load(txn, view, 3);
                end(0);
        }
}

/* What is read in one snapshot is not validated: M does not matter, and each fault would be one too many. */
static void test_readers_keep_what_is_contended(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 1);
        assert_int_equal(read_and_write(3, 40), 0);
        stage_other_puts(stage, 3, 2);
        assert_int_equal(read_and_write(3, 40), 0);
        assert_int_equal(txn_begin(txn, XAC_RDONLY), 0);
        assert_true(view_is_readable(view, 3));
        assert_int_equal(stage_load(txn, view, 3), 2);
        end(0);
        stage_other_puts(stage, 3, 3);
        assert_int_equal(txn_begin(txn, XAC_RDONLY), 0);
        assert_int_equal(stage_load(txn, view, 3), 3);
        end(0);
}

/* A reset forgets what is mapped, not who changes it. */
static void test_a_reset_keeps_contention(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 1);
        assert_int_equal(read_and_write(3, 40), 0);
        stage_other_puts(stage, 3, 2);
        assert_int_equal(read_and_write(3, 40), 0);
        assert_int_equal(view_reset(view), 0);
        assert_int_equal(read_and_write(3, 40), 0);
        begin();
        assert_true(view_is_hidden(view, 3));
        end(0);
}

/* One view that suffers does not make the other one fault. */
static void test_exactness_is_a_views_own(void **state)
{
        uint32_t file_no;
        struct view *second;

        (void)state;
        assert_int_equal(files_open(&stage->engine->files, "more", 64 * ENGINE_PAGE_BYTES, &file_no), 0);
        second = stage_map_file(stage, 0, file_no);
        begin();
        stage_load(txn, second, 3);
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 4, 9);
        end(XAC_CONFLICT);
        begin();
        assert_true(view->is_exact);
        assert_false(second->is_exact);
        assert_true(view_is_readable(second, 3));
        end(0);
}

static void test_tracking_views_are_always_exact(void **state)
{
        (void)state;
        for (int i = 0; i < 3; i++) {
                begin();
                assert_true(view->is_exact);
                assert_int_equal(view->listed.count, 0);
                stage_load(txn, view, 3);
                stage_store(txn, view, 40, 1);
                stage_other_puts(stage, 4, 9);
                end(0);
        }
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 3, 9);
        end(XAC_CONFLICT);
        assert_int_equal(view->exact_left, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                SYNC_TEST(test_a_perhaps_lost_attempt_is_repeated_exactly),
                SYNC_TEST(test_an_exact_attempt_that_lost_has_lost),
                SYNC_TEST(test_exactness_wears_off),
                SYNC_TEST(test_exactness_lasts_as_long_as_it_pays),
                SYNC_TEST(test_a_page_that_others_change_does_not_stay_in_m),
                SYNC_TEST(test_a_page_that_others_leave_alone_stays),
                SYNC_TEST(test_readers_keep_what_is_contended),
                SYNC_TEST(test_a_reset_keeps_contention),
                SYNC_TEST(test_exactness_is_a_views_own),
                cmocka_unit_test_setup_teardown(test_tracking_views_are_always_exact, setup_tracking, teardown),
        };

        return cmocka_run_group_tests_name("libxac/view_sync, contended", tests, NULL, NULL);
}
