/* SPDX-License-Identifier: MIT */

/*
 * P7: trouble with the data files is a code, not a crash; and nothing committed is lost.
 */

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static void fill_and_close(void)
{
        seat_take(WAY_DECLARED);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_commit_add(seat_word(page, 0));
        seat_leave(0);
}

/* Somebody cut the file off under the open environment: its pages read as zeros, and what
 * read them cannot commit. */
static void a_truncated_file_is_xac_corrupt(int way)
{
        fill_and_close();
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(0), 1);
        check_equal(truncate(scratch_path("env/words"), 4096), 0);
        for (int i = 0; i < 3; i++) {
                unsigned page = 20 + (unsigned)i * 10;

                check_ok(xbegin(seat.env, i == 1 ? 0 : XAC_RDONLY));
                check_equal(seat_get(seat_word(page, 0)), 0);
                check_equal(seat_get(0), 1);
                check_code(xend(seat.env), XAC_CORRUPT);
                check_equal(seat_commit_get(0), 1);
        }
        check_equal(seat_commit_add(0), 2);
        seat_leave(0);
}

/* A write to such a page copies it first. */
static void writing_a_page_that_was_cut_off_is_xac_corrupt(int way)
{
        fill_and_close();
        seat_take((uint64_t)way);
        check_equal(truncate(scratch_path("env/words"), 4096), 0);
        check_ok(xbegin(seat.env, 0));
        if (!(way & WAY_DECLARED) || xac_page_write(seat.env, seat.words + seat_word(30, 0)) != NULL)
                seat_put(seat_word(30, 0), 5);
        check_code(xend(seat.env), XAC_CORRUPT);
        check_equal(seat_commit_add(0), 2);
        seat_leave(0);
}

/* The file system refuses to take what goes home. */
static void limit_file_size(rlim_t byte_len)
{
        const struct rlimit limit = { byte_len, RLIM_INFINITY };

        signal(SIGXFSZ, SIG_IGN);
        check_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_checkpoint_that_cannot_write_loses_nothing(int way)
{
        if (seat_is_durable())
                isolate_skip("the limit is met by the log first, and poisons");
        seat_take((uint64_t)way);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_commit_add(seat_word(page, 0));
        limit_file_size(8 * 4096);
        check_code(xac_checkpoint(seat.env), -EFBIG);
        check_equal(seat_commit_get(seat_word(40, 0)), 1);
        check_equal(seat_commit_add(seat_word(40, 0)), 2);
        check_code(xac_checkpoint(seat.env), -EFBIG);
        limit_file_size(RLIM_INFINITY);
        check_ok(xac_checkpoint(seat.env));
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 0)), page == 40 ? 2 : 1);
        seat_leave(0);
}

/* Shared memory stays for the next opener. */
static void a_last_close_that_cannot_write_home_keeps_everything(int way)
{
        int code;

        if (seat_is_durable())
                isolate_skip("the limit is met by the log first, and poisons");
        seat_take((uint64_t)way);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_commit_add(seat_word(page, 0));
        limit_file_size(8 * 4096);
        code = xac_close(seat.env);
        check(code == -EFBIG);
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        limit_file_size(RLIM_INFINITY);
        seat_take((uint64_t)way);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 0)), 1);
        seat_leave(0);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(seat_word(SEAT_PAGES - 1, 0)), 1);
        seat_leave(0);
}

static void growth_that_is_refused_is_an_error_and_no_growth(void)
{
        seat_take(0);
        seat_commit_add(0);
        limit_file_size((SEAT_PAGES + 8) * 4096);
        check(xac_mmap(seat.env, "words", (SEAT_PAGES + 100) * 4096, 0) == MAP_FAILED);
        check(errno == ENOSPC || errno == EFBIG);
        check_equal(seat_commit_add(0), 2);
        check(xac_mmap(seat.env, "other", (SEAT_PAGES + 100) * 4096, 0) == MAP_FAILED);
        check(errno == ENOSPC || errno == EFBIG);
        limit_file_size(RLIM_INFINITY);
        check(xac_mmap(seat.env, "words", (SEAT_PAGES + 100) * 4096, 0) == seat.words);
        check_equal(seat_commit_add(seat_word(SEAT_PAGES + 99, 0)), 1);
        check_ok(xac_munmap(seat.env, seat.words));
        seat_leave(0);
}

/* No descriptors left: a code, and it passes. */
static void no_descriptors_left_is_an_error_that_passes(void)
{
        struct rlimit limit;
        xac_env *env;
        int code;

        check_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        for (rlim_t count = 3; count < 16; count++) {
                const struct rlimit low = { count, limit.rlim_max };

                check_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
                code = xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, NULL, &env);
                check(code == 0 || code == -EMFILE);
                if (code == 0)
                        check_ok(xac_close(env));
                check_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
                seat_take(0);
                check_equal(seat_commit_add(0), count - 2);
                seat_leave(0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(a_truncated_file_is_xac_corrupt),
                isolated_by_access(writing_a_page_that_was_cut_off_is_xac_corrupt),
                isolated_by_access(a_checkpoint_that_cannot_write_loses_nothing),
                isolated_by_access(a_last_close_that_cannot_write_home_keeps_everything),
                isolated_test(growth_that_is_refused_is_an_error_and_no_growth),
                isolated_test(no_descriptors_left_is_an_error_that_passes),
        };
        return cmocka_run_group_tests_name("trouble", tests, NULL, NULL);
}
