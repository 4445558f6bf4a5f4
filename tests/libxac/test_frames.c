/* SPDX-License-Identifier: MIT */
#include "libxac/view/frames.h"

/*
 * Pages that keep the slot they are mapped to: which become framed, that writing them maps nothing, and every way in
 * which a frame is lost. The audits at begin and end compare each frame with the version that its page should show.
 */

#include "tests/libxac/view_sync_stand.h"

#include "libxac/store/pool.h"

enum { PAGE = 40, POOL_SLOTS = 1900 };

static int setup_tracking(void **state)
{
        (void)state;
        return setup_with(POOL_SLOTS, XAC_TRACK);
}

static int setup_strict(void **state)
{
        (void)state;
        return setup_with(POOL_SLOTS, XAC_STRICT);
}

static uint32_t frames(void)
{
        return atomic_load(&txn->self->row->frames);
}

static uint64_t private_slots(void)
{
        struct pool_census census;

        pool_count(&stage->engine->shared, &census);
        return census.private;
}

static void put(uint64_t page_no, uint64_t value)
{
        begin();
        stage_store(txn, view, page_no, value);
        end(0);
        assert_int_equal(private_slots(), frames());
}

static uint64_t get(uint64_t page_no)
{
        begin();
        uint64_t value = stage_load(txn, view, page_no);
        end(0);
        return value;
}

/* The page has a frame, and its value is 2. */
static void frame_page(void)
{
        put(PAGE, 1);
        put(PAGE, 2);
        assert_true(view_is_framed(view, PAGE));
        assert_int_equal(frames(), 1);
}

static void assert_no_frame(void)
{
        assert_false(view_is_framed(view, PAGE));
        assert_int_equal(frames(), 0);
        assert_int_equal(private_slots(), 0);
}

static int new_mappings;

static int count_mappings(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        new_mappings += call == SYS_MMAP;
        return 0;
}

/* ---- Which pages, and what for ---- */

static void test_a_page_that_is_written_again_keeps_its_mapping(void **state)
{
        (void)state;
        put(PAGE, 1);
        assert_no_frame();
        put(PAGE, 2);
        uint32_t frame = view_slot(view, PAGE);
        new_mappings = 0;
        sys_fail = count_mappings;
        for (uint64_t value = 3; value < 20; value++) {
                put(PAGE, value);
                assert_int_equal(view_slot(view, PAGE), frame);
                assert_int_equal(stage_committed(stage, PAGE), value);
        }
        sys_fail = NULL;
        assert_int_equal(new_mappings, 0);
        assert_int_equal(get(PAGE), 19);
        assert_int_equal(frames(), 1);
}

/* I1: the frame is written, the versions are not. */
static void test_older_versions_stay_as_they_are(void **state)
{
        (void)state;
        frame_page();
        uint64_t snapshot = engine_begin(stage->engine, 1);
        for (uint64_t value = 3; value < 6; value++)
                put(PAGE, value);
        begin();
        stage_store(txn, view, PAGE, 77);
        assert_int_equal(engine_visible(stage->engine, PAGE, snapshot), 2);
        assert_int_equal(stage_committed(stage, PAGE), 5);
        end(0);
        assert_int_equal(engine_load(stage->engine, 1, PAGE), 2);
        engine_abort(stage->engine, 1);
}

static void test_a_page_that_another_wrote_last_is_not_framed(void **state)
{
        (void)state;
        put(PAGE, 1);
        stage_other_puts(stage, PAGE, 2);
        put(PAGE, 3);
        assert_no_frame();
        put(PAGE, 4); /* twice in turn, but it is contended: it will be hidden before the next attempt */
        assert_no_frame();
}

static void test_where_all_is_hidden_each_time_nothing_is_framed(void **state)
{
        (void)state;
        for (uint64_t value = 1; value < 4; value++) {
                begin();
                stage_store(txn, view, PAGE, value);
                assert_int_equal(txn_end(txn), 0);
        }
        assert_no_frame();
}

static void test_pages_that_only_declared_access_writes_are_not_framed(void **state)
{
        (void)state;
        for (uint64_t value = 1; value < 4; value++) {
                begin();
                uint64_t *word = touch_page_write(txn, stage_word(view, PAGE));
                *word = value;
                end(0);
        }
        assert_no_frame();
        assert_int_equal(get(PAGE), 3);
}

/* A sixteenth of the pool, by the rows in use. */
static void test_frames_are_a_part_of_the_pool_at_most(void **state)
{
        const uint32_t pages = 200;

        (void)state;
        for (uint64_t value = 1; value < 4; value++) {
                begin();
                for (uint64_t page_no = 0; page_no < pages; page_no++)
                        stage_store(txn, view, page_no, value);
                end(0);
        }
        uint32_t limit =
                stage->engine->shared.control->pool_slots / 16 / atomic_load(&stage->engine->shared.control->rows_used);
        assert_true(limit > 0 && limit < pages);
        assert_int_equal(frames(), limit);
}

static void test_frames_give_way_where_the_pool_is_nearly_full(void **state)
{
        (void)state;
        frame_page();
        for (uint64_t value = 3; value < 6; value++) {
                /* Each commit brings pages home then, and sets itself another aim. */
                atomic_store(&stage->engine->shared.control->room_wanted, UINT32_MAX);
                put(PAGE, value);
                assert_no_frame();
        }
        put(PAGE, 6);
        put(PAGE, 7);
        assert_int_equal(frames(), 1);
}

/* ---- How a frame ends ---- */

static void test_what_others_change_has_no_frame_any_more(void **state)
{
        (void)state;
        frame_page();
        stage_other_puts(stage, PAGE, 3);
        assert_int_equal(get(PAGE), 3);
        assert_no_frame();
}

static void test_an_abort_undoes_what_was_written_there(void **state)
{
        (void)state;
        frame_page();
        begin();
        stage_store(txn, view, PAGE, 3);
        assert_int_equal(frames(), 0); /* it is the transaction's */
        assert_int_equal(txn_abort(txn), 0);
        audit();
        assert_no_frame();
        assert_int_equal(get(PAGE), 2);
}

/* The copy was made, and the frame kept, before the race was lost. */
static void test_a_lost_commit_undoes_what_was_written_there(void **state)
{
        (void)state;
        frame_page();
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, PAGE, 3);
        stage_other_puts(stage, 3, 9);
        end(XAC_CONFLICT);
        assert_no_frame();
        assert_int_equal(get(PAGE), 2);
}

static void test_inner_levels_undo_and_keep_what_they_wrote(void **state)
{
        (void)state;
        frame_page();
        begin();
        begin();
        stage_store(txn, view, PAGE, 3);
        assert_int_equal(txn_abort(txn), 0);
        audit();
        assert_int_equal(stage_load(txn, view, PAGE), 2);
        begin();
        stage_store(txn, view, PAGE, 4);
        end(0);
        stage_store(txn, view, PAGE, stage_load(txn, view, PAGE) + 1);
        begin();
        stage_store(txn, view, PAGE, 9);
        assert_int_equal(txn_abort(txn), 0);
        end(0);
        assert_int_equal(get(PAGE), 5);
        assert_int_equal(private_slots(), frames());
}

static void test_declared_access_and_a_frame_agree(void **state)
{
        (void)state;
        frame_page();
        begin();
        uint64_t *word = touch_page_write(txn, stage_word(view, PAGE));
        assert_int_equal(*word, 2);
        *word = 3;
        assert_int_equal(stage_load(txn, view, PAGE), 3);
        stage_store(txn, view, PAGE, 4);
        assert_int_equal(*word, 4);
        end(0);
        assert_int_equal(get(PAGE), 4);

        frame_page();
        begin();
        stage_store(txn, view, PAGE, 5);
        word = touch_page_write(txn, stage_word(view, PAGE));
        assert_int_equal(*word, 5);
        *word = 6;
        assert_int_equal(stage_load(txn, view, PAGE), 6);
        end(0);
        assert_int_equal(get(PAGE), 6);
}

static void test_a_moved_page_leaves_its_frame(void **state)
{
        (void)state;
        for (int is_written = 0; is_written < 2; is_written++) {
                frame_page();
                begin();
                if (is_written)
                        stage_store(txn, view, PAGE, 3);
                assert_int_equal(touch_move(txn, stage_word(view, 60), stage_word(view, PAGE), 1), 0);
                assert_int_equal(stage_load(txn, view, 60), 2 + is_written);
                assert_int_equal(stage_load(txn, view, PAGE), 0);
                assert_int_equal(txn_end(txn), 0); /* the audit knows no aliases */
                assert_false(view_is_framed(view, PAGE));
                assert_int_equal(private_slots(), frames());
                assert_int_equal(stage_committed(stage, 60), 2 + is_written);
                assert_int_equal(view_reset(view), 0);
        }
}

/* Between transactions, and when it is lost already, a store goes into a private copy. */
static void test_stray_stores_do_not_reach_a_frame(void **state)
{
        (void)state;
        frame_page();
        stage_store(txn, view, PAGE, 9);
        assert_int_equal(get(PAGE), 2);
        assert_no_frame();

        frame_page();
        assert_int_equal(txn_begin(txn, XAC_RDONLY), 0);
        stage_store(txn, view, PAGE, 9);
        assert_int_equal(stage_load(txn, view, PAGE), 9);
        stage_store(txn, view, PAGE + 1, 9);
        assert_int_equal(stage_load(txn, view, PAGE), 9);
        end(XAC_WROTE);
        assert_int_equal(get(PAGE), 2);
        assert_no_frame();
}

static void test_a_view_that_is_emptied_gives_frames_back(void **state)
{
        (void)state;
        frame_page();
        assert_int_equal(view_collapse(view), 0);
        audit();
        assert_no_frame();
        frame_page();
        assert_int_equal(view_reset(view), 0);
        audit();
        assert_no_frame();
        frame_page();
        views_remove(txn->views, view);
        view_destroy(view);
        assert_int_equal(frames(), 0);
        assert_int_equal(private_slots(), 0);
        view = stage_map(stage, 0);
}

static int refuse_mprotect(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MPROTECT ? -ENOMEM : 0;
}

/* The frame is mapped anew to be written, and hidden with all else instead of protected. */
static void test_without_mprotect_nothing_is_lost(void **state)
{
        (void)state;
        frame_page();
        begin();
        sys_fail = refuse_mprotect;
        stage_store(txn, view, PAGE, 3);
        audit();
        end(0);
        sys_fail = NULL;
        assert_no_frame();
        assert_int_equal(get(PAGE), 3);
}

/* Announced writes take frames where there are, and what lies between is mapped in runs. */
static void test_announced_pages_are_written_in_their_frames(void **state)
{
        (void)state;
        frame_page();
        uint32_t frame = view_slot(view, PAGE);
        begin();
        assert_int_equal(touch_range(txn, stage_word(view, PAGE - 4), 9 * ENGINE_PAGE_BYTES, TOUCH_WRITE), 0);
        audit();
        assert_int_equal(view_slot(view, PAGE), frame);
        for (uint64_t page_no = PAGE - 4; page_no < PAGE + 5; page_no++)
                stage_store(txn, view, page_no, page_no);
        end(0);
        for (uint64_t page_no = PAGE - 4; page_no < PAGE + 5; page_no++)
                assert_int_equal(get(page_no), page_no);
        assert_int_equal(view_slot(view, PAGE), frame);
        assert_int_equal(private_slots(), frames());
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                SYNC_TEST(test_a_page_that_is_written_again_keeps_its_mapping),
                SYNC_TEST(test_older_versions_stay_as_they_are),
                SYNC_TEST(test_a_page_that_another_wrote_last_is_not_framed),
                cmocka_unit_test_setup_teardown(test_where_all_is_hidden_each_time_nothing_is_framed, setup_tracking,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_where_all_is_hidden_each_time_nothing_is_framed, setup_strict,
                                                teardown),
                SYNC_TEST(test_pages_that_only_declared_access_writes_are_not_framed),
                SYNC_TEST(test_frames_are_a_part_of_the_pool_at_most),
                SYNC_TEST(test_frames_give_way_where_the_pool_is_nearly_full),
                SYNC_TEST(test_what_others_change_has_no_frame_any_more),
                SYNC_TEST(test_an_abort_undoes_what_was_written_there),
                SYNC_TEST(test_a_lost_commit_undoes_what_was_written_there),
                SYNC_TEST(test_inner_levels_undo_and_keep_what_they_wrote),
                SYNC_TEST(test_declared_access_and_a_frame_agree),
                SYNC_TEST(test_a_moved_page_leaves_its_frame),
                SYNC_TEST(test_stray_stores_do_not_reach_a_frame),
                SYNC_TEST(test_a_view_that_is_emptied_gives_frames_back),
                SYNC_TEST(test_without_mprotect_nothing_is_lost),
                SYNC_TEST(test_announced_pages_are_written_in_their_frames),
        };

        return cmocka_run_group_tests_name("libxac/frames", tests, NULL, NULL);
}
