/* SPDX-License-Identifier: MIT */

/*
 * A process that may open no more files (ulimit -n): a commit that needs one is -EMFILE at once, is undone, and the
 * next one finds all as it was when there are descriptors again. Nothing is poisoned, for nobody.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

enum { PAGE = 4096, PAGES = 64, LOG_KIB = 1024, COMMITS = 60, STEP = 64, AT_ONCE_MS = 500, NS_PER_MS = 1000000 };

static xac_env *env;
static uint64_t *words; /* PAGES pages; in each STEPth word how many commits there were */

/* ---- Descriptors ---- */

/* Those that are open stay so. */
static void set_limit(rlim_t count)
{
        struct rlimit limit;

        check_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
        check_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Also none of those that the library's own threads may close meanwhile. */
static void take_all_descriptors(void)
{
        set_limit(0);
        check(dup(STDERR_FILENO) < 0 && errno == EMFILE);
}

static void give_descriptors_back(void)
{
        set_limit(RLIM_INFINITY);
}

/* ---- The environment ---- */

static void enter(void)
{
        const xac_options options = { .log_bytes = LOG_KIB << 10 };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        words = xac_mmap(env, "words", PAGES * PAGE, 0);
        check(words != MAP_FAILED);
}

static int commit(int flags)
{
        check_ok(xbegin(env, flags));
        for (size_t i = 0; i < PAGES * PAGE / sizeof(*words); i += STEP)
                words[i]++;
        return xend(env);
}

static uint64_t commits_seen(void)
{
        check_ok(xbegin(env, XAC_RDONLY));
        uint64_t count = words[0];
        for (size_t i = 0; i < PAGES * PAGE / sizeof(*words); i += STEP)
                check_equal(words[i], count);
        check_ok(xend(env));
        return count;
}

/* An error that leaves nothing; and no time goes by until it is told. */
static void expect_no_descriptor(int flags)
{
        const uint64_t before = commits_seen();
        const uint64_t begun_ns = crew_clock_ns();

        check_code(commit(flags), -EMFILE);
        check(crew_clock_ns() - begun_ns < leeway_ms(AT_ONCE_MS) * NS_PER_MS);
        check_equal(commits_seen(), before);
}

static void leave_with(uint64_t commits)
{
        check_equal(commits_seen(), commits);
        check_ok(xac_checkpoint(env));
        check_ok(xac_close(env));
        enter();
        check_equal(commits_seen(), commits);
        check_ok(xac_close(env));
}

/* ---- Tests ---- */

static void the_first_commit_of_a_process_alone(void)
{
        enter();
        take_all_descriptors();
        expect_no_descriptor(0);
        expect_no_descriptor(0);
        give_descriptors_back();
        check_ok(commit(0));
        leave_with(1);
}

static long long other_enters(uint64_t unused)
{
        (void)unused;
        enter();
        return commit(0);
}

static long long other_commits(uint64_t unused)
{
        (void)unused;
        return commit(0);
}

static long long other_leaves(uint64_t unused)
{
        (void)unused;
        return xac_close(env);
}

static void the_first_commit_beside_another_process(void)
{
        struct actor *other = actor_start(WAY_PROCESS);

        check_ok((int)actor_do(other, other_enters, 0));
        enter();
        take_all_descriptors();
        expect_no_descriptor(0);
        check_ok((int)actor_do(other, other_commits, 0));
        expect_no_descriptor(0);
        give_descriptors_back();
        check_ok(commit(0));
        check_ok((int)actor_do(other, other_commits, 0));
        check_ok((int)actor_do(other, other_leaves, 0));
        actor_stop(other);
        leave_with(4);
}

/* The log goes on in other files meanwhile: who makes them needs descriptors, too. */
static void in_the_middle_of_a_run(int flags)
{
        uint64_t commits = 1, refused = 0;

        enter();
        check_ok(commit(0));
        take_all_descriptors();
        for (int i = 0; i < COMMITS; i++) {
                int code = commit(flags);

                check(code == 0 || code == -EMFILE);
                commits += code == 0;
                refused += code != 0;
        }
        check(commits > 1);                       /* what is open serves until the segment is full */
        check(refused > 0 || flags & XAC_NOSYNC); /* no other segment can be made */
        int code = xac_sync(env);
        check(code == 0 || code == -EMFILE);
        code = xac_checkpoint(env);
        check(code == 0 || code == -EMFILE);
        give_descriptors_back();
        check_ok(xac_sync(env));
        for (int i = 0; i < COMMITS; i++)
                check_ok(commit(flags));
        leave_with(commits + COMMITS);
}

static void in_the_middle_of_a_run_that_waits(void)
{
        in_the_middle_of_a_run(0);
}

static void in_the_middle_of_a_run_that_does_not_wait(void)
{
        in_the_middle_of_a_run(XAC_NOSYNC);
}

/* What is not logged yet goes to the log before a commit that waits. */
static void a_commit_that_waits_behind_some_that_did_not(void)
{
        enter();
        take_all_descriptors();
        for (int i = 0; i < 3; i++)
                check_ok(commit(XAC_NOSYNC));
        expect_no_descriptor(0);
        check_equal(xac_sync(env), -EMFILE);
        check_equal(xac_checkpoint(env), -EMFILE);
        give_descriptors_back();
        check_ok(xac_sync(env));
        check_ok(commit(0));
        leave_with(4);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_first_commit_of_a_process_alone),
                isolated_test(the_first_commit_beside_another_process),
                isolated_test(in_the_middle_of_a_run_that_waits),
                isolated_test(in_the_middle_of_a_run_that_does_not_wait),
                isolated_test(a_commit_that_waits_behind_some_that_did_not),
        };
        return cmocka_run_group_tests_name("no descriptors", tests, NULL, NULL);
}
