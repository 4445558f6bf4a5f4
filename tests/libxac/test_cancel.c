/* SPDX-License-Identifier: MIT */

/*
 * Threads that are cancelled (pthread_cancel) while they are in a call: nobody is blocked afterwards, nothing leaks,
 * and xac_wait() ends at once. With `--cancels N` each call is cancelled so often.
 */

#include <stdio.h>
#include <sys/mman.h>

#include "tests/support/cancel.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGES = 30, WORDS = 512, LIMIT_S = 600, NAME_BYTES = 40 };

static _Atomic unsigned turn;

static void *map(xac_env *env)
{
        uint64_t *words = xac_mmap(env, "words", PAGES * WORDS * sizeof(uint64_t), 0);

        check(words != MAP_FAILED);
        return words;
}

static int add(void *words)
{
        ++((uint64_t *)words)[WORDS * (size_t)(turn++ % PAGES)];
        return 0;
}

static void open_and_close(xac_env *env, void *words)
{
        const xac_options options = { .pool_bytes = 16 << 20 };
        xac_env *other;

        (void)env, (void)words;
        if (xac_open(scratch_path("other"), XAC_CREATE, &options, &other) == 0)
                check_ok(xac_close(other));
}

static void commit(xac_env *env, void *words)
{
        check_ok(xac_run(env, 0, add, words));
}

static void commit_by_itself(xac_env *env, void *words)
{
        int err;

        do {
                check_ok(xbegin(env, 0));
                (void)add(words);
                err = xend(env);
        } while (err == XAC_CONFLICT);
        check_ok(err);
}

static void checkpoint(xac_env *env, void *words)
{
        check_ok(xac_run(env, XAC_NOSYNC, add, words));
        check_ok(xac_checkpoint(env));
}

static void synchronize(xac_env *env, void *words)
{
        check_ok(xac_run(env, XAC_NOSYNC, add, words));
        check_ok(xac_sync(env));
}

static void snapshot(xac_env *env, void *words)
{
        xac_snapshot *made;

        (void)words;
        if (xac_snapshot_open(env, 0, &made))
                return;
        check(xac_snapshot_map(made, "words", NULL) != MAP_FAILED);
        check_ok(xac_snapshot_close(made));
}

static void durable_snapshot(xac_env *env, void *words)
{
        xac_snapshot *made, *fresh;

        check_ok(xac_run(env, XAC_NOSYNC, add, words));
        if (xac_snapshot_open(env, XAC_DURABLE, &made))
                return;
        const uint64_t *then = xac_snapshot_map(made, "words", NULL);
        check(then != MAP_FAILED && then[0] <= turn);
        check_ok(xac_snapshot_refresh(made, &fresh));
        check_ok(xac_snapshot_close(fresh));
        check_ok(xac_snapshot_close(made));
}

static void map_and_unmap(xac_env *env, void *words)
{
        void *other = xac_mmap(env, "other", WORDS * sizeof(uint64_t), XAC_ANYWHERE);

        (void)words;
        if (other != MAP_FAILED)
                check_ok(xac_munmap(env, other));
}

static void backup(xac_env *env, void *words)
{
        static _Atomic unsigned made;
        char name[NAME_BYTES];

        (void)words;
        snprintf(name, sizeof(name), "backup.%u", made++);
        check_ok(xac_backup(env, scratch_path(name), NULL));
}

static void scrub(xac_env *env, void *words)
{
        (void)words;
        check_ok(xac_scrub(env, NULL, NULL));
}

static void wait_for_ever(xac_env *env, void *words)
{
        check_ok(xbegin(env, 0));
        check(*(uint64_t *)words != 1234567);
        (void)xac_wait(env, NULL);
}

struct waiting {
        xac_env *env;
        uint64_t *words;
};

static int wait_in_a_body(void *waiting_)
{
        const struct waiting *waiting = waiting_;

        check(waiting->words[0] != 1234567);
        return xac_wait(waiting->env, NULL);
}

static void wait_in_a_run(xac_env *env, void *words)
{
        struct waiting waiting = { env, words };

        (void)xac_run(env, 0, wait_in_a_body, &waiting);
}

#define cancelled_test(made, is_endless_)                                                                          \
        static void made##_may_be_cancelled(void)                                                                  \
        {                                                                                                          \
                cancel_again_and_again(                                                                            \
                        &(const struct cancel_call){ .begin = map, .call = (made), .is_endless = (is_endless_) }); \
        }
/* clang-format off */
cancelled_test(open_and_close, false)
cancelled_test(commit, false)
cancelled_test(commit_by_itself, false)
cancelled_test(checkpoint, false)
cancelled_test(synchronize, false)
cancelled_test(snapshot, false)
cancelled_test(durable_snapshot, false)
cancelled_test(map_and_unmap, false)
cancelled_test(backup, false)
cancelled_test(scrub, false)
cancelled_test(wait_for_ever, true)
cancelled_test(wait_in_a_run, true)
        /* clang-format on */

        int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(open_and_close_may_be_cancelled, LIMIT_S),
                isolated_timed(commit_may_be_cancelled, LIMIT_S),
                isolated_timed(commit_by_itself_may_be_cancelled, LIMIT_S),
                isolated_timed(checkpoint_may_be_cancelled, LIMIT_S),
                isolated_timed(synchronize_may_be_cancelled, LIMIT_S),
                isolated_timed(snapshot_may_be_cancelled, LIMIT_S),
                isolated_timed(durable_snapshot_may_be_cancelled, LIMIT_S),
                isolated_timed(map_and_unmap_may_be_cancelled, LIMIT_S),
                isolated_timed(backup_may_be_cancelled, LIMIT_S),
                isolated_timed(scrub_may_be_cancelled, LIMIT_S),
                isolated_timed(wait_for_ever_may_be_cancelled, LIMIT_S),
                isolated_timed(wait_in_a_run_may_be_cancelled, LIMIT_S),
        };

        cancel_options(argc, argv);
        return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
