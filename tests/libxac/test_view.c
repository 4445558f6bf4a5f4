/* SPDX-License-Identifier: MIT */
#include "libxac/view/view.h"

/*
 * One view by itself: what pages show, what M remembers, the budget of mappings, and what is
 * left when the kernel refuses. After each step the kernel's own list of mappings is compared
 * with what the view believes.
 */

#include "tests/libxac/view_stand.h"

#include "libxac/store/ranges.h"

static int setup(void **state)
{
        (void)state;
        return setup_with(1024, 0);
}

/* A private version of a page, as a store would make it. */
static uint32_t write_page(uint64_t page_no, uint64_t value)
{
        struct page_entry *entry;

        assert_int_equal(txn_pages_write(&txn->pages, page_id(view->file_no, page_no), txn->depth, 0, &entry), 0);
        *(uint64_t *)(void *)entry->bytes = value;
        return entry->slot;
}

static void show_written(uint64_t page_no, uint64_t value)
{
        assert_int_equal(view_show(view, page_no, write_page(page_no, value), VIEW_WRITABLE), 0);
}

static uint64_t value_of(uint64_t page_no)
{
        return *(volatile uint64_t *)stage_word(view, page_no);
}

static enum sys_call refused;
static int refusals, refused_calls;

static int refuse(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        if (call != refused)
                return 0;
        refused_calls++;
        return refused_calls <= refusals ? -ENOMEM : 0;
}

static void refuse_first(enum sys_call call, int count)
{
        refused = call;
        refusals = count;
        refused_calls = 0;
        sys_fail = refuse;
}

static void test_pages_show_what_they_are_told_to(void **state)
{
        uint64_t in_file = 77;

        (void)state;
        audit(); /* nothing is accessible at first */
        assert_int_equal(
                pwrite(stage->engine->files.file[view->file_no].fd, &in_file, sizeof(in_file), 9 * ENGINE_PAGE_BYTES),
                sizeof(in_file));
        assert_int_equal(txn_begin(txn, 0), 0);
        show_written(3, 33);
        assert_int_equal(view_show_run(view, 8, SLOT_HOME, 4, VIEW_READABLE), 0);
        assert_int_equal(view_show(view, 20, write_page(20, 2020), VIEW_STRAY), 0);
        audit();
        assert_int_equal(value_of(3), 33);
        assert_int_equal(value_of(9), 77);
        assert_int_equal(value_of(20), 2020);
        *stage_word(view, 20) = 1; /* a stray page is a copy of its own */
        const char *original = shared_slot_bytes(&stage->engine->shared, view_slot(view, 20));
        assert_int_equal(*(const uint64_t *)(const void *)original, 2020);
}

static void test_hidden_pages_leave_m(void **state)
{
        (void)state;
        assert_int_equal(view_show_run(view, 0, SLOT_HOME, 16, VIEW_READABLE), 0);
        for (uint64_t page_no = 0; page_no < 17; page_no++)
                assert_int_equal(view_in_m(view, page_no), page_no < 16);
        assert_int_equal(view_hide(view, 5), 0);
        assert_int_equal(view_hide_run(view, 8, 3), 0);
        assert_int_equal(view_hide(view, 100), 0); /* is hidden already */
        for (uint64_t page_no = 0; page_no < 16; page_no++)
                assert_int_equal(view_in_m(view, page_no), page_no != 5 && (page_no < 8 || page_no > 10));
        audit();
}

/* The slot's mapping stays, inaccessible, for the next one to take its place. */
static void test_slots_are_veiled(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        for (uint64_t page_no = 10; page_no < 14; page_no++)
                show_written(page_no, page_no);
        assert_int_equal(view_protect_writes(view), 0);
        uint64_t mappings = view->mappings;
        refuse_first(SYS_MMAP, 1000);
        assert_int_equal(view_hide(view, 11), 0);
        assert_int_equal(view_hide_run(view, 12, 2), 0);
        sys_fail = NULL;
        audit();
        for (uint64_t page_no = 11; page_no < 14; page_no++)
                assert_true(view_is_hidden(view, page_no) && !view_in_m(view, page_no));
        assert_int_equal(view->mappings, mappings);
        assert_int_equal(view_show(view, 12, view_slot(view, 10), VIEW_READABLE), 0);
        assert_int_equal(view->mappings, mappings);
        assert_int_equal(value_of(12), 10);
        assert_int_equal(view_reset(view), 0);
        audit();
        assert_int_equal(view->mappings, 1);
}

/* The copy of a stray page is memory that nobody needs any more. */
static void test_stray_pages_are_not_veiled(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(view_show(view, 20, write_page(20, 2020), VIEW_STRAY), 0);
        refuse_first(SYS_MPROTECT, 1000);
        assert_int_equal(view_hide(view, 20), 0);
        sys_fail = NULL;
        assert_int_equal(refused_calls, 0);
        assert_int_equal(view->mappings, 1);
        audit();
}

/* R4: a collapse is about mappings, not about what was read. */
static void test_a_collapse_keeps_m_and_a_reset_does_not(void **state)
{
        (void)state;
        assert_int_equal(view_show_run(view, 4, SLOT_HOME, 2, VIEW_READABLE), 0);
        assert_int_equal(view_collapse(view), 0);
        assert_int_equal(stage_audit(stage, txn, view), 1);
        assert_true(view_is_hidden(view, 4));
        assert_true(view_in_m(view, 4) && view_in_m(view, 5) && !view_in_m(view, 6));
        assert_true(view->is_collapsed);
        assert_int_equal(view_show(view, 4, SLOT_HOME, VIEW_READABLE), 0);
        assert_int_equal(view->listed.count, 2); /* the same page is not listed twice */
        assert_int_equal(view_reset(view), 0);
        assert_int_equal(stage_audit(stage, txn, view), 1);
        assert_false(view_in_m(view, 4) || view_in_m(view, 5));
        assert_false(view->is_collapsed);
        assert_int_equal(view->listed.count, 0);
}

static void show_mixture(void)
{
        assert_int_equal(txn_begin(txn, 0), 0);
        for (uint64_t page_no = 10; page_no < 14; page_no++)
                show_written(page_no, page_no);
        show_written(40, 40);
        assert_int_equal(view_show(view, 50, SLOT_HOME, VIEW_STRAY), 0);
        assert_int_equal(view_show(view, 14, SLOT_HOME, VIEW_STRAY), 0);
        audit();
}

static void test_protecting_keeps_written_pages_readable(void **state)
{
        (void)state;
        show_mixture();
        assert_int_equal(view_protect_writes(view), 0);
        audit();
        for (uint64_t page_no = 10; page_no < 14; page_no++)
                assert_int_equal(view_state(view, page_no), VIEW_READABLE);
        assert_int_equal(value_of(12), 12);
        assert_int_equal(view_state(view, 40), VIEW_READABLE);
        assert_true(view_is_stray(view, 50)); /* what a doomed transaction wrote it sees */
        assert_true(view_is_stray(view, 14));
        assert_int_equal(view->writable.count, 2);
        assert_int_equal(view_protect_writes(view), 0);
        assert_int_equal(view_hide_writes(view), 0);
        assert_true(view_is_hidden(view, 50));
        assert_int_equal(view->writable.count, 0);
}

static void test_hiding_writes_hides_all_of_them(void **state)
{
        (void)state;
        show_mixture();
        assert_int_equal(view_show(view, 60, SLOT_HOME, VIEW_READABLE), 0);
        assert_int_equal(view_hide_writes(view), 0);
        audit();
        for (uint64_t page_no = 10; page_no < 15; page_no++)
                assert_true(view_is_hidden(view, page_no));
        assert_int_equal(view_state(view, 60), VIEW_READABLE);
        assert_int_equal(view->writable.count, 0);
}

/* ---- What the kernel refuses ---- */

/* What is done to the whole view works still. */
static int refuse_small(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset;
        return (call == SYS_MMAP || call == SYS_MPROTECT) && byte_len < view->reserve_bytes ? -ENOMEM : 0;
}

static int refuse_all(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP || call == SYS_MPROTECT ? -ENOMEM : 0;
}

/* The page that was written before and then protected is written again: nothing is mapped anew. */
static void test_writing_a_protected_page_again_maps_nothing(void **state)
{
        (void)state;
        show_mixture();
        assert_int_equal(view_protect_writes(view), 0);
        refuse_first(SYS_MMAP, 1000);
        assert_int_equal(view_show(view, 11, view_slot(view, 11), VIEW_WRITABLE), 0);
        sys_fail = NULL;
        assert_int_equal(refused_calls, 0);
        audit();
        *stage_word(view, 11) = 1111;
        assert_int_equal(value_of(11), 1111);
}

/* mprotect splits mappings and may fail for that; mapping the page anew may collapse first. */
static void test_a_refused_mprotect_is_gone_around(void **state)
{
        (void)state;
        show_mixture();
        assert_int_equal(view_protect_writes(view), 0);
        refuse_first(SYS_MPROTECT, 1);
        assert_int_equal(view_show(view, 11, view_slot(view, 11), VIEW_WRITABLE), 0);
        sys_fail = NULL;
        assert_int_equal(refused_calls, 1);
        assert_int_equal(view_state(view, 11), VIEW_WRITABLE);
        audit();
        refuse_first(SYS_MPROTECT, 1);
        assert_int_equal(view_protect_writes(view), 0); /* by a collapse */
        sys_fail = NULL;
        audit();
        assert_true(view_is_hidden(view, 11));
        assert_true(view_is_hidden(view, 12));
        assert_true(view_in_m(view, 11));
}

static void test_without_mappings_the_view_collapses_and_tries_again(void **state)
{
        (void)state;
        show_mixture();
        refuse_first(SYS_MMAP, 1);
        assert_int_equal(view_show(view, 70, SLOT_HOME, VIEW_READABLE), 0);
        sys_fail = NULL;
        assert_int_equal(refused_calls, 3); /* refused; the collapse; again */
        assert_int_equal(view_state(view, 70), VIEW_READABLE);
        assert_true(view_is_hidden(view, 10));
        assert_true(view_in_m(view, 10));
        audit();
}

static void test_a_refusal_for_good_changes_nothing(void **state)
{
        (void)state;
        show_mixture();
        sys_fail = refuse_all;
        assert_int_equal(view_show(view, 70, SLOT_HOME, VIEW_READABLE), -ENOMEM);
        assert_int_equal(view_show_zeros(view, 71), -ENOMEM);
        assert_int_equal(view_show(view, 10, SLOT_HOME, VIEW_READABLE), -ENOMEM);
        assert_int_equal(view_collapse(view), -ENOMEM);
        sys_fail = NULL;
        assert_true(view_is_hidden(view, 70));
        assert_false(view_in_m(view, 70));
        assert_int_equal(view_state(view, 10), VIEW_WRITABLE);
        assert_int_equal(value_of(12), 12);
        audit();
}

static void test_hiding_hardly_ever_fails(void **state)
{
        (void)state;
        show_mixture();
        refuse_first(SYS_MMAP, 1);
        assert_int_equal(view_hide(view, 12), 0);
        sys_fail = NULL;
        audit();
        assert_true(view_is_hidden(view, 12));

        sys_fail = refuse_small;
        assert_int_equal(view_hide(view, 11), 0); /* with all others */
        sys_fail = NULL;
        audit();
        assert_true(view_is_hidden(view, 11));
        assert_true(view_is_hidden(view, 10));
        assert_true(view->is_collapsed);

        assert_int_equal(view_show(view, 12, SLOT_HOME, VIEW_READABLE), 0);
        sys_fail = refuse_all;
        assert_int_equal(view_hide(view, 12), -ENOMEM);
        assert_int_equal(view_reset(view), -ENOMEM);
        sys_fail = NULL;
        assert_true(view->is_collapsed); /* the next begin insists on a reset */
        assert_int_equal(view_reset(view), 0);
        assert_int_equal(stage_audit(stage, txn, view), 1);
}

/* At the limit of mappings the whole view can still be made inaccessible. */
static void test_everything_is_hidden_without_a_new_mapping(void **state)
{
        (void)state;
        show_mixture();
        refuse_first(SYS_MMAP, 1000);
        assert_int_equal(view_reset(view), 0);
        sys_fail = NULL;
        audit();
        assert_true(view_is_hidden(view, 10));
        assert_int_equal(view_show(view, 12, SLOT_HOME, VIEW_READABLE), 0);
        assert_int_equal(value_of(12), 0);
        audit();
}

static void test_every_allocation_of_a_new_view_may_fail(void **state)
{
        const uint64_t before = mappings_in_use();
        struct view *second;
        int nth = 0, err;

        (void)state;
        do {
                scratch_fail(++nth, -ENOMEM, 1);
                err = view_create(&stage->engine->files, view->file_no, 4096, XAC_ANYWHERE, &second);
                sys_fail = NULL;
                assert_true(err == 0 || err == -ENOMEM);
                assert_int_equal(mappings_in_use(), before + (err == 0));
        } while (err);
        assert_int_equal(nth, 4); /* the reservation, the words, the regions */
        view_destroy(second);
        assert_int_equal(mappings_in_use(), before);
}

static void test_lists_that_cannot_grow_are_told(void **state)
{
        (void)state;
        for (int nth = 1;; nth++) {
                struct view *fresh;
                int err;

                assert_int_equal(view_create(&stage->engine->files, view->file_no, 4096, XAC_ANYWHERE, &fresh), 0);
                scratch_fail(nth, -ENOMEM, 1);
                err = view_show_zeros(fresh, 1);
                sys_fail = NULL;
                assert_int_equal(view_state(fresh, 1), err ? VIEW_HIDDEN : VIEW_STRAY);
                view_destroy(fresh);
                if (!err) {
                        assert_int_equal(nth, 5); /* three lists, one mapping */
                        break;
                }
                assert_int_equal(err, -ENOMEM);
        }
}

/* ---- The budget ---- */

static void test_a_larger_file_has_a_larger_reservation(void **state)
{
        const uint64_t byte_len = 4 * (uint64_t)ENGINE_PAGES * ENGINE_PAGE_BYTES;
        struct view *large;

        (void)state;
        assert_int_equal(view_create(&stage->engine->files, view->file_no, byte_len, XAC_ANYWHERE, &large), 0);
        assert_int_equal(large->reserve_bytes, byte_len);
        assert_int_equal(view->reserve_bytes, ENGINE_PAGES * ENGINE_PAGE_BYTES);
        assert_true(view_contains(large, large->base + byte_len - 1));
        assert_false(view_contains(large, large->base + byte_len) || view_contains(large, large->base - 1));
        assert_int_equal(view_page_no(large, large->base + byte_len - 1), byte_len / ENGINE_PAGE_BYTES - 1);
        view_destroy(large);
}

static uint64_t kernel_limit(void)
{
        FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
        unsigned long long limit = 65530;

        if (file) {
                assert_int_equal(fscanf(file, "%llu", &limit), 1);
                fclose(file);
        }
        return limit;
}

/* More single pages than the half of vm.max_map_count that views may use: the view collapses. */
static void test_the_budget_of_mappings_is_kept(void **state)
{
        const uint64_t limit = kernel_limit() / 2;
        const uint64_t byte_len = 2 * limit * ENGINE_PAGE_BYTES;
        uint64_t most = 0;
        bool has_collapsed = false;
        struct view *large;

        (void)state;
        if (limit > 1 << 20)
                skip(); /* it would take too long */
        assert_int_equal(view_create(&stage->engine->files, view->file_no, byte_len, XAC_ANYWHERE, &large), 0);
        for (uint64_t page_no = 0; page_no < 2 * limit && !has_collapsed; page_no += 2) {
                assert_int_equal(view_show(large, page_no, SLOT_HOME, VIEW_READABLE), 0);
                most = mappings_in_use() > most ? mappings_in_use() : most;
                has_collapsed = large->is_collapsed;
        }
        assert_true(has_collapsed);
        assert_true(most > limit && most <= limit + 2);
        assert_int_equal(mappings_in_use(), view->mappings + large->mappings);
        stage_audit(stage, txn, large);
        view_destroy(large);
}

/* What is kept for the moment when the program has used up the rest is given up once, and taken
 * on board again by the next begin. */
static void test_ballast_is_the_last_resort(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(view_show(view, 0, SLOT_HOME, VIEW_READABLE), 0);
        sys_fail = refuse_all;
        assert_int_equal(view_show(view, 1, SLOT_HOME, VIEW_READABLE), -ENOMEM);
        sys_fail = NULL;
        assert_false(mappings_drop_ballast()); /* it has been tried */
        assert_int_equal(view_show(view, 1, SLOT_HOME, VIEW_READABLE), 0);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_true(mappings_drop_ballast());
        assert_false(mappings_drop_ballast());
}

static bool has_unmapped;

static int refuse_until_unmapped(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        has_unmapped |= call == SYS_MUNMAP;
        return call == SYS_MMAP && !has_unmapped ? -ENOMEM : 0;
}

/* So it is for the lists of a view's pages. */
static void test_ballast_is_given_up_for_lists(void **state)
{
        (void)state;
        mappings_prepare();
        assert_int_equal(view->listed.capacity, 0);
        has_unmapped = false;
        sys_fail = refuse_until_unmapped;
        assert_int_equal(view_show(view, 0, SLOT_HOME, VIEW_READABLE), 0);
        sys_fail = NULL;
        assert_true(has_unmapped);
}

/* A hole in a run at home is two more mappings. */
static void test_holes_in_a_run_are_counted(void **state)
{
        (void)state;
        assert_int_equal(view_show_run(view, 0, SLOT_HOME, 64, VIEW_READABLE), 0);
        for (uint64_t page_no = 1; page_no < 64; page_no += 2)
                assert_int_equal(view_hide(view, page_no), 0);
        audit();
}

static int unmap_and_look(void *arg)
{
        (void)arg;
        ranges_unmap_all_in_child(), mappings_forget_in_child();
        if (mappings_in_use() != 0)
                return 1;
        return msync(view->base, ENGINE_PAGE_BYTES, MS_ASYNC) == -1 && errno == ENOMEM ? 0 : 2;
}

/* P9 */
static void test_a_forked_child_unmaps_them(void **state)
{
        (void)state;
        assert_int_equal(view_show(view, 0, SLOT_HOME, VIEW_READABLE), 0);
        scratch_expect_exit(scratch_fork(unmap_and_look, NULL), 0);
        audit();
}

/* Without /proc the kernel's default stands for the limit. */
static int show_without_proc(void *arg)
{
        struct view *first;

        (void)arg;
        refuse_first(SYS_OPEN, 1000);
        if (view_create(&stage->engine->files, stage->engine->file_no, 4096, XAC_ANYWHERE, &first))
                return 1;
        if (view_show(first, 0, SLOT_HOME, VIEW_READABLE) || first->is_collapsed || mappings_are_scarce())
                return 2;
        view_destroy(first);
        return 0;
}

static void test_the_limit_need_not_be_readable(void **state)
{
        (void)state;
        stage = stage_start(64, 0);
        scratch_expect_exit(scratch_fork(show_without_proc, NULL), 0);
        stage_stop(stage);
}

#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_limit_need_not_be_readable), /* first: the limit is read once */
                VIEW_TEST(test_pages_show_what_they_are_told_to),
                VIEW_TEST(test_hidden_pages_leave_m),
                VIEW_TEST(test_slots_are_veiled),
                VIEW_TEST(test_stray_pages_are_not_veiled),
                VIEW_TEST(test_a_collapse_keeps_m_and_a_reset_does_not),
                VIEW_TEST(test_protecting_keeps_written_pages_readable),
                VIEW_TEST(test_hiding_writes_hides_all_of_them),
                VIEW_TEST(test_writing_a_protected_page_again_maps_nothing),
                VIEW_TEST(test_a_refused_mprotect_is_gone_around),
                VIEW_TEST(test_without_mappings_the_view_collapses_and_tries_again),
                VIEW_TEST(test_a_refusal_for_good_changes_nothing),
                VIEW_TEST(test_hiding_hardly_ever_fails),
                VIEW_TEST(test_everything_is_hidden_without_a_new_mapping),
                VIEW_TEST(test_every_allocation_of_a_new_view_may_fail),
                VIEW_TEST(test_lists_that_cannot_grow_are_told),
                VIEW_TEST(test_a_larger_file_has_a_larger_reservation),
                VIEW_TEST(test_the_budget_of_mappings_is_kept),
                VIEW_TEST(test_ballast_is_the_last_resort),
                VIEW_TEST(test_ballast_is_given_up_for_lists),
                VIEW_TEST(test_holes_in_a_run_are_counted),
                VIEW_TEST(test_a_forked_child_unmaps_them),
        };

        return cmocka_run_group_tests_name("libxac/view", tests, NULL, NULL);
}
