/* SPDX-License-Identifier: MIT */
#include "libxac/view/view_sync.h"

/*
 * Views in step with others' commits (R4): what begin hides, and what commit compares. When a view becomes exact,
 * and what is hidden before each attempt, is in test_view_contended.c. Home runs map sixteen pages around the one
 * that is read, so "a neighbour" below is a page that is in M although nobody touched it.
 */

#include "tests/libxac/view_sync_stand.h"

#include "libxac/care/checkpoint.h"
#include "libxac/ground/ring.h"

static void other_flips_everything(void)
{
        struct home_writer writer = { .self = &stage->engine->participant[STAGE_OTHER],
                                      .files = &stage->engine->files };

        assert_int_equal(checkpoint_run(&writer), 0);
}

/* ---- Begin ---- */

static void test_pages_stay_mapped_while_nobody_changes_them(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 33);
        begin();
        assert_int_equal(stage_load(txn, view, 3), 33);
        stage_store(txn, view, 40, 1);
        end(0);
        begin();
        assert_int_equal(view_state(view, 3), VIEW_READABLE);
        assert_int_equal(view_state(view, 40), VIEW_READABLE); /* its own commit is no news */
        assert_int_equal(stage_load(txn, view, 40), 1);
        end(0);
}

static void test_begin_hides_what_others_changed_and_nothing_else(void **state)
{
        (void)state;
        begin();
        for (uint64_t page_no = 0; page_no < 64; page_no += 16)
                stage_load(txn, view, page_no);
        end(0);
        stage_other_puts(stage, 20, 5);
        stage_other_puts(stage, 300, 5); /* is not mapped */
        begin();
        for (uint64_t page_no = 0; page_no < 64; page_no++)
                assert_int_equal(view_is_hidden(view, page_no), page_no == 20);
        assert_int_equal(stage_load(txn, view, 20), 5);
        end(0);
}

static void test_many_changes_reset_the_view(void **state)
{
        (void)state;
        begin();
        for (uint64_t page_no = 0; page_no < 256; page_no += 16)
                stage_load(txn, view, page_no);
        end(0);
        for (uint64_t page_no = 0; page_no < 100; page_no++)
                stage_other_puts(stage, page_no, page_no + 1);
        begin();
        assert_true(view_is_hidden(view, 250));
        assert_int_equal(view->listed.count, 0);
        assert_int_equal(stage_load(txn, view, 99), 100);
        end(0);
}

static void test_a_lapped_ring_resets_the_view(void **state)
{
        (void)state;
        begin();
        stage_load(txn, view, 0);
        stage_load(txn, view, 100);
        end(0);
        for (uint64_t i = 0; i < RING_ENTRIES + 8; i++)
                stage_other_puts(stage, 0, i + 1);
        begin();
        assert_true(view_is_hidden(view, 100));
        assert_int_equal(stage_load(txn, view, 0), RING_ENTRIES + 8);
        end(0);
}

/* R14: what a page shows may be a slot that home displaced and somebody reuses. */
static void test_flips_reset_the_view(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 33);
        begin();
        assert_int_equal(stage_load(txn, view, 3), 33);
        assert_true(view_slot(view, 3) != SLOT_HOME);
        end(0);
        other_flips_everything();
        begin();
        assert_true(view_is_hidden(view, 3));
        assert_int_equal(stage_load(txn, view, 3), 33);
        assert_int_equal(view_slot(view, 3), SLOT_HOME);
        end(0);
}

/* Rings are silent about what was committed while no view existed. */
static void test_a_view_that_comes_later_shows_what_is_new(void **state)
{
        (void)state;
        views_remove(txn->views, view);
        view_destroy(view);
        for (uint64_t page_no = 0; page_no < 4; page_no++)
                stage_other_puts(stage, page_no, 10 + page_no);
        view = stage_map(stage, 0);
        begin();
        for (uint64_t page_no = 0; page_no < 4; page_no++)
                assert_int_equal(stage_load(txn, view, page_no), 10 + page_no);
        stage_other_puts(stage, 2, 77);
        stage_store(txn, view, 50, 1);
        end(XAC_CONFLICT);
}

/* Nobody pays for rings before a page is shown, and after the last view is gone. */
static void test_rings_are_filled_while_pages_are_shown(void **state)
{
        struct control *control = stage->engine->shared.control;
        struct row *other = stage->engine->participant[STAGE_OTHER].row;

        (void)state;
        begin();
        touch_page_read(txn, stage_word(view, 3));
        end(0);
        assert_false(ring_is_read(control));
        stage_other_puts(stage, 1, 1);
        assert_int_equal(atomic_load(&other->ring_end), 0);

        begin();
        stage_load(txn, view, 3);
        assert_true(ring_is_read(control));
        end(0);
        stage_other_puts(stage, 1, 1);
        assert_int_equal(atomic_load(&other->ring_end), 1);

        views_remove(txn->views, view);
        view_destroy(view);
        assert_false(ring_is_read(control));
        stage_other_puts(stage, 1, 2);
        assert_int_equal(atomic_load(&other->ring_end), 1);
}

/* P3: also while somebody stands still in the middle of a commit. */
static void test_the_first_page_is_shown_without_a_lock(void **state)
{
        struct shared *shared = &stage->engine->shared;

        (void)state;
        assert_int_equal(publish_lock(shared, stage->engine->participant[STAGE_OTHER].owner), 0);
        assert_int_equal(txn_begin(txn, XAC_RDONLY), 0);
        assert_int_equal(stage_load(txn, view, 3), 0);
        end(0);
        views_remove(txn->views, view);
        view_destroy(view);
        publish_unlock(shared);
}

/* A commit that was under way then has found nobody who reads rings. It is not in one, but nobody believes so. */
static void test_a_commit_under_way_when_the_first_page_is_shown(void **state)
{
        struct shared *shared = &stage->engine->shared;
        struct control *control = shared->control;
        struct row *other = stage->engine->participant[STAGE_OTHER].row;

        (void)state;
        assert_int_equal(publish_lock(shared, stage->engine->participant[STAGE_OTHER].owner), 0);
        begin();
        assert_int_equal(stage_load(txn, view, 3), 0);
        end(0);
        publish_unlock(shared);
        atomic_fetch_sub(&control->ring_readers, 1); /* as it has read it */
        stage_other_puts(stage, 3, 77);
        atomic_fetch_add(&control->ring_readers, 1);
        assert_int_equal(atomic_load(&other->ring_end), 0);
        begin();
        assert_int_equal(stage_load(txn, view, 3), 77);
        end(0);
}

/* The first page is shown late in the attempt: what was committed before that is in no ring. */
static void test_a_page_shown_late_is_compared_from_the_snapshot(void **state)
{
        (void)state;
        begin();
        touch_page_write(txn, stage_word(view, 40));
        stage_other_puts(stage, 3, 1);
        assert_int_equal(stage_load(txn, view, 3), 0); /* P2 */
        end(XAC_CONFLICT);
        begin();
        touch_page_write(txn, stage_word(view, 40));
        stage_other_puts(stage, 100, 1);
        assert_int_equal(stage_load(txn, view, 3), 1);
        end(0);
}

static void test_two_files_are_found_by_their_addresses(void **state)
{
        uint32_t file_no;
        struct view *second;

        (void)state;
        assert_int_equal(files_open(&stage->engine->files, "more", 16 * ENGINE_PAGE_BYTES, &file_no), 0);
        second = stage_map_file(stage, 0, file_no);
        assert_ptr_equal(views_find(txn->views, view->base), view);
        assert_ptr_equal(views_find(txn->views, view->base + view->reserve_bytes - 1), view);
        assert_ptr_equal(views_find(txn->views, second->base + 5), second);
        assert_null(views_find(txn->views, &file_no));
        assert_null(views_find(stage->txn[1].views, view->base));

        begin();
        stage_store(txn, view, 1, 11);
        stage_store(txn, second, 1, 22);
        end(0);
        stage_audit(stage, txn, second);
        begin();
        assert_int_equal(stage_load(txn, second, 1), 22);
        assert_int_equal(stage_load(txn, view, 1), 11);
        end(0);
}

static int refuse_memory(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP || call == SYS_MPROTECT ? -ENOMEM : 0;
}

/* A view that cannot be brought up to date would show a mixture: there is no transaction then. */
static void test_a_view_out_of_step_is_no_transaction(void **state)
{
        (void)state;
        begin();
        stage_load(txn, view, 3);
        end(0);
        stage_other_puts(stage, 3, 1);
        sys_fail = refuse_memory;
        assert_int_equal(txn_begin(txn, 0), -ENOMEM);
        sys_fail = NULL;
        assert_false(txn_is_open(txn));
        assert_int_equal(atomic_load(&txn->self->row->snapshot), 0);
        begin();
        assert_int_equal(stage_load(txn, view, 3), 1);
        end(0);
}

static void test_stray_pages_that_cannot_be_hidden_are_no_beginning(void **state)
{
        (void)state;
        assert_int_equal(touch_fault(txn, view, stage_word(view, 3), TOUCH_WRITE), TOUCH_DONE);
        *stage_word(view, 3) = 5;
        sys_fail = refuse_memory;
        assert_int_equal(txn_begin(txn, 0), -ENOMEM);
        sys_fail = NULL;
        begin();
        assert_int_equal(stage_load(txn, view, 3), 0);
        end(0);
}

/* ---- M at commit ---- */

static void test_a_changed_page_of_m_is_a_conflict(void **state)
{
        (void)state;
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 3, 9);
        end(XAC_CONFLICT);
        assert_int_equal(stage_committed(stage, 40), 0);
        begin();
        assert_int_equal(stage_load(txn, view, 3), 9);
        assert_int_equal(stage_load(txn, view, 40), 0);
        end(0);
}

static void test_a_change_elsewhere_is_none(void **state)
{
        (void)state;
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 100, 9);
        end(0);
}

/* R4: within an attempt M only grows. */
static void test_what_an_aborted_level_read_counts(void **state)
{
        (void)state;
        begin();
        begin();
        stage_load(txn, view, 3);
        assert_int_equal(txn_abort(txn), 0);
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 3, 9);
        end(XAC_CONFLICT);
}

static void test_what_a_collapse_hid_counts(void **state)
{
        (void)state;
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        assert_int_equal(view_collapse(view), 0);
        audit();
        assert_int_equal(stage_load(txn, view, 40), 1); /* from its slot again */
        assert_int_equal(view_state(view, 40), VIEW_READABLE);
        stage_store(txn, view, 40, 2);
        assert_int_equal(txn->pages.writes.count, 1);
        stage_other_puts(stage, 3, 9);
        end(XAC_CONFLICT);
        stage_other_puts(stage, 3, 10);
        begin();
        assert_false(view->is_collapsed); /* a new attempt starts with a clean M */
        stage_store(txn, view, 40, 2);
        end(0);
}

static void test_written_pages_survive_a_collapse(void **state)
{
        (void)state;
        begin();
        for (uint64_t page_no = 0; page_no < 40; page_no++)
                stage_store(txn, view, page_no, page_no + 1);
        assert_int_equal(view_collapse(view), 0);
        audit();
        for (uint64_t page_no = 0; page_no < 40; page_no += 2)
                stage_store(txn, view, page_no, page_no + 1000);
        end(0);
        begin();
        for (uint64_t page_no = 0; page_no < 40; page_no++)
                assert_int_equal(stage_load(txn, view, page_no), page_no + (page_no % 2 ? 1 : 1000));
        end(0);
}

static void lap_the_ring(uint64_t page_no)
{
        for (uint64_t i = 0; i < RING_ENTRIES + 8; i++)
                stage_other_puts(stage, page_no, i + 1);
}

static void test_without_rings_the_heads_decide(void **state)
{
        (void)state;
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 1);
        lap_the_ring(100);
        end(0); /* nothing of M is newer */
        begin();
        stage_load(txn, view, 3);
        stage_store(txn, view, 40, 2);
        stage_other_puts(stage, 5, 1); /* a neighbour */
        lap_the_ring(100);
        end(XAC_CONFLICT);
        assert_int_equal(view->exact_left, 1);
}

/* ---- Snapshot isolation ---- */

/* Its commit says nothing about the pages it merely read: they are looked at again. */
static void test_an_unvalidated_commit_does_not_move_the_view(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, XAC_SNAPSHOT_ISOLATION), 0);
        assert_int_equal(stage_load(txn, view, 3), 0);
        stage_store(txn, view, 40, 1);
        stage_other_puts(stage, 3, 9);
        end(0);
        begin();
        assert_true(view_is_hidden(view, 3));
        assert_int_equal(stage_load(txn, view, 3), 9);
        assert_int_equal(stage_load(txn, view, 40), 1);
        end(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                SYNC_TEST(test_pages_stay_mapped_while_nobody_changes_them),
                SYNC_TEST(test_begin_hides_what_others_changed_and_nothing_else),
                SYNC_TEST(test_many_changes_reset_the_view),
                SYNC_TEST(test_a_lapped_ring_resets_the_view),
                SYNC_TEST(test_flips_reset_the_view),
                SYNC_TEST(test_a_view_that_comes_later_shows_what_is_new),
                SYNC_TEST(test_rings_are_filled_while_pages_are_shown),
                SYNC_TEST(test_the_first_page_is_shown_without_a_lock),
                SYNC_TEST(test_a_commit_under_way_when_the_first_page_is_shown),
                SYNC_TEST(test_a_page_shown_late_is_compared_from_the_snapshot),
                SYNC_TEST(test_two_files_are_found_by_their_addresses),
                SYNC_TEST(test_a_view_out_of_step_is_no_transaction),
                SYNC_TEST(test_stray_pages_that_cannot_be_hidden_are_no_beginning),
                SYNC_TEST(test_a_changed_page_of_m_is_a_conflict),
                SYNC_TEST(test_a_change_elsewhere_is_none),
                SYNC_TEST(test_what_an_aborted_level_read_counts),
                SYNC_TEST(test_what_a_collapse_hid_counts),
                SYNC_TEST(test_written_pages_survive_a_collapse),
                SYNC_TEST(test_without_rings_the_heads_decide),
                SYNC_TEST(test_an_unvalidated_commit_does_not_move_the_view),
        };

        return cmocka_run_group_tests_name("libxac/view_sync", tests, NULL, NULL);
}
