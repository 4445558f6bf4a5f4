/* SPDX-License-Identifier: MIT */
#include "libxac/care/checkpoint.h"

/*
 * Versions go home: what is in the data file afterwards, what stays in the pool, and that no
 * failure loses anything.
 */

#include "tests/libxac/engine_stand.h"

enum { PAGES = 300 };

static int go_home(int who)
{
        struct home_writer writer = { .self = &engine->participant[who], .files = &engine->files, .may_wait = true };

        return checkpoint_run(&writer);
}

static uint64_t word_in_file(uint64_t page_no)
{
        uint64_t word;
        int fd = engine->files.file[engine->file_no].fd;

        assert_int_equal(pread(fd, &word, sizeof(word), (off_t)(page_no * ENGINE_PAGE_BYTES)), sizeof(word));
        return word;
}

/* Scattered, with runs, so that writes of many pages and of one occur. */
static bool is_written(uint64_t page_no)
{
        return page_no < 200 || page_no % 7 == 0;
}

static void write_pages(uint64_t base)
{
        for (uint64_t page_no = PAGES; page_no-- > 0;)
                if (is_written(page_no))
                        engine_put(engine, 1, page_no, base + page_no);
}

static void assert_all_visible(uint64_t base)
{
        uint64_t snapshot = engine_begin(engine, 5);

        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(engine_visible(engine, page_no, snapshot), is_written(page_no) ? base + page_no : 0);
        engine_abort(engine, 5);
}

static void assert_all_in_file(uint64_t base)
{
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(word_in_file(page_no), is_written(page_no) ? base + page_no : 0);
}

static void test_everything_goes_home(void **state)
{
        (void)state;
        assert_int_equal(go_home(0), 0); /* nothing to do */
        write_pages(1000);
        assert_int_equal(word_in_file(0), 0);
        assert_int_equal(go_home(0), 0);
        assert_all_in_file(1000);
        assert_all_visible(1000);
        assert_int_equal(engine_pages_in_pool(engine), 0);
        engine_assert_nothing_leaked(engine);

        write_pages(5000);
        assert_all_in_file(1000);
        assert_all_visible(5000);
        assert_int_equal(go_home(2), 0);
        assert_all_in_file(5000);
        engine_assert_nothing_leaked(engine);
}

/* I3: what an active snapshot must not see yet stays in the pool; the reader keeps its home. */
static void test_a_reader_holds_newer_pages_back(void **state)
{
        uint64_t snapshot;

        (void)state;
        write_pages(1000);
        snapshot = engine_begin(engine, 4);
        engine_put(engine, 1, 10, 7);
        engine_put(engine, 1, PAGES + 5, 8); /* home until now */
        assert_int_equal(go_home(0), 0);
        assert_int_equal(word_in_file(10), 0); /* neither the old nor the new version */
        assert_int_equal(word_in_file(PAGES + 5), 0);
        assert_int_equal(word_in_file(11), 1011);
        assert_int_equal(engine_visible(engine, 10, snapshot), 1010);
        assert_int_equal(engine_visible(engine, 11, snapshot), 1011);
        assert_int_equal(engine_visible(engine, PAGES + 5, snapshot), 0);
        participant_end(&engine->participant[4]);

        assert_int_equal(go_home(0), 0);
        assert_int_equal(word_in_file(10), 7);
        assert_int_equal(word_in_file(PAGES + 5), 8);
        engine_assert_nothing_leaked(engine);
}

static bool is_small(void *arg, uint64_t page)
{
        (void)arg;
        return page_id_no(page) < 5;
}

static void test_pages_in_use_stay(void **state)
{
        struct home_writer writer = {
                .self = &engine->participant[0], .files = &engine->files, .is_in_use = is_small, .may_wait = true
        };

        (void)state;
        write_pages(1000);
        assert_int_equal(checkpoint_run(&writer), 0);
        assert_int_equal(engine_pages_in_pool(engine), 5);
        assert_int_equal(word_in_file(4), 0);
        assert_int_equal(word_in_file(5), 1005);
        assert_all_visible(1000);
}

static void test_one_at_a_time(void **state)
{
        struct home_writer writer = { .self = &engine->participant[0], .files = &engine->files };
        struct shlock *lock = &engine->shared.control->checkpoint_lock;

        (void)state;
        assert_int_equal(shlock_try(lock, engine->participant[1].owner), 0);
        assert_int_equal(checkpoint_run(&writer), -EBUSY);
        shlock_unlock(lock);
        assert_int_equal(checkpoint_run(&writer), 0);
        assert_int_equal(shlock_owner(lock), 0);
}

/* ---- Failures ---- */

/* R13: heads name home only after the sync; a failure leaves every version where it was. */
static void test_every_call_may_fail(void **state)
{
        static const int errors[] = { -EIO, -ENOSPC };

        (void)state;
        for (int e = 0; e < 2; e++)
                for (int nth = 1;; nth++) {
                        int err;

                        write_pages((uint64_t)(1000 * (nth + e)));
                        scratch_fail(nth, errors[e], 0);
                        err = go_home(0);
                        bool has_failed = scratch_failed();
                        assert_all_visible((uint64_t)(1000 * (nth + e)));
                        assert_int_equal(shlock_owner(&engine->shared.control->checkpoint_lock), 0);
                        assert_int_equal(shlock_owner(&engine->shared.control->commit_lock), 0);
                        if (!has_failed) {
                                assert_int_equal(err, 0);
                                assert_true(nth > 3);
                                break;
                        }
                        if (err)
                                assert_true(engine_pages_in_pool(engine) > 0);
                        engine_assert_nothing_leaked(engine);
                }
        assert_int_equal(go_home(0), 0);
        engine_assert_nothing_leaked(engine);
}

static int refuse_sync(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_SYNC ? -EIO : 0;
}

static void test_nothing_is_home_before_the_sync(void **state)
{
        uint64_t in_pool;

        (void)state;
        write_pages(1000);
        in_pool = engine_pages_in_pool(engine);
        sys_fail = refuse_sync;
        assert_int_equal(go_home(0), -EIO);
        sys_fail = NULL;
        assert_int_equal(engine_pages_in_pool(engine), in_pool);
        assert_all_visible(1000);
}

static uint64_t told_done, told_total;

static void note_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
        assert_ptr_equal(arg, engine);
        assert_non_null(what);
        assert_true(done > told_done && done <= total);
        told_done = done;
        told_total = total;
}

static void test_progress_is_told(void **state)
{
        struct home_writer writer = { .self = &engine->participant[0],
                                      .files = &engine->files,
                                      .progress = note_progress,
                                      .progress_arg = engine,
                                      .may_wait = true };

        (void)state;
        told_done = told_total = 0;
        write_pages(1000);
        assert_int_equal(checkpoint_run(&writer), 0);
        assert_true(told_total >= 200);
        assert_int_equal(told_done, told_total);
}

#define HOME_TEST(name) cmocka_unit_test_setup_teardown(name, setup_roomy, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                HOME_TEST(test_everything_goes_home), HOME_TEST(test_a_reader_holds_newer_pages_back),
                HOME_TEST(test_pages_in_use_stay),    HOME_TEST(test_one_at_a_time),
                HOME_TEST(test_every_call_may_fail),  HOME_TEST(test_nothing_is_home_before_the_sync),
                HOME_TEST(test_progress_is_told),
        };

        return cmocka_run_group_tests_name("libxac/home", tests, NULL, NULL);
}
