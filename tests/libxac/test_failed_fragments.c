/* SPDX-License-Identifier: MIT */

/*
 * A large commit fails when some of its fragments are in the log already: the disk has no room for the others. What is
 * left of it is in nobody's way: not of other commits, of an archive, of a close, nor of who opens what a close left.
 */

#include <errno.h>

#include "base/sys.h"
#include "tests/libxac/backlog_stand.h"

enum { LARGE = 200, SMALL_LOG = 256 << 10 };

static int make_no_segment(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_CHMOD ? -ENOSPC : 0;
}

/* Changes so many words of each page but the first; the disk is full from now on. */
static void fail_with_fragments(uint32_t changed_words)
{
        sys_fail = make_no_segment;
        begin(0);
        for (uint32_t i = 1; i < LARGE; i++) {
                uint64_t *page = xac_page_write(env, &words[(size_t)i * PAGE_WORDS]);

                check(page != NULL);
                for (size_t word = 0; word < changed_words; word++)
                        page[word] = chance_next(&chance);
        }
        check_code(xend(env), -ENOSPC);
}

/* ---- A close ---- */

static int die_at_last_step(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        if (call == SYS_UNLINK && fd == AT_FDCWD)
                kill(getpid(), SIGKILL);
        return 0;
}

/* The manifest is that of a closed environment, and its shared memory is still there. */
static void fail_and_die_in_close(void)
{
        enter_with(LARGE, SMALL_LOG);
        duty_stop(env);
        commit(0, 0, 1);
        promise();
        check_ok(xac_checkpoint(env));
        fail_with_fragments(PAGE_WORDS);
        check(end_of_log() % LOG_BLOCK != 0); /* not the end of a group */
        sys_fail = die_at_last_step;
        (void)xac_close(env);
}

static void commit_durably(void)
{
        enter(LARGE);
        commit(0, 5, 77);
        promise();
}

static void commit_twice(void)
{
        commit_durably();
        commit(0, 7, 78);
        promise();
}

static void go_on_with(void (*second)(void))
{
        set_up();
        int status = crew_status(crew_fork(live_and_die, 0, (void *)fail_and_die_in_close));

        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        then_the_machine_goes_down(second);
        check_recovered(LARGE);
}

static void the_first_commit_after_a_close_that_died_is_there(void)
{
        go_on_with(commit_durably);
}

static void so_is_the_second(void)
{
        go_on_with(commit_twice);
}

/* ---- An archive ---- */

static void open_with_archive(void)
{
        const xac_options options = { .log_bytes = SMALL_LOG, .archive = scratch_path("archive") };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        map_pages(LARGE);
}

static void an_archive_takes_what_is_there(void)
{
        set_up();
        check_equal(mkdir(scratch_path("archive"), 0700), 0);
        open_with_archive();
        commit(0, 0, 1);
        leave();
        open_with_archive();
        duty_stop(env);
        fail_with_fragments(PAGE_WORDS);
        sys_fail = NULL;
        leave();
        open_with_archive();
        check_pages(truth->now);
        leave();
}

/* ---- Other commits ---- */

static void commit_small(void)
{
        begin(0);
        uint64_t *page = xac_page_write(env, &words[5 * PAGE_WORDS]);

        check(page != NULL);
        for (int word = 0; word < 30; word++)
                page[word] = chance_next(&chance);
        end();
}

/* Whatever room is left behind the fragments, a checkpoint makes more. */
static void small_commits_go_on(void)
{
        set_up();
        for (uint32_t changed_words = 363; changed_words < 385; changed_words += 7) {
                scratch_clear();
                enter_with(LARGE, SMALL_LOG);
                duty_stop(env);
                commit(0, 0, 1);
                commit_noise(0, 1, 60);
                check_ok(xac_checkpoint(env));
                commit_noise(0, 1, 10);
                check_ok(xac_checkpoint(env));
                fail_with_fragments(changed_words);
                check_ok(xac_checkpoint(env));
                for (int i = 0; i < 3; i++)
                        commit_small();
                sys_fail = NULL;
                leave();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_first_commit_after_a_close_that_died_is_there),
                isolated_test(so_is_the_second),
                isolated_test(an_archive_takes_what_is_there),
                isolated_timed(small_commits_go_on, 80),
        };
        return cmocka_run_group_tests_name("fragments of a commit that failed", tests, NULL, NULL);
}
