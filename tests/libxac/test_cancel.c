/* SPDX-License-Identifier: MIT */

/*
 * Threads that are cancelled (pthread_cancel) while they are in a call: nobody is blocked afterwards, nothing leaks,
 * and xac_wait() ends at once.
 */

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

enum { ROUNDS = 25, PAGES = 30, WORDS = 512, DELAY_US = 4000, BEGUN_MS = 20000 };

static xac_env *env;
static struct chance chance;
static _Atomic uint64_t calls; /* that were made by the thread that is cancelled */

static int add(void *words)
{
        ++((uint64_t *)words)[WORDS * (size_t)(calls % PAGES)];
        return 0;
}

/* ---- What is cancelled, again and again until it is ---- */

typedef void call(void *words);

static void open_and_close(void *words)
{
        const xac_options options = { .pool_bytes = 16 << 20 };
        xac_env *other;

        (void)words;
        if (xac_open(scratch_path("other"), XAC_CREATE, &options, &other) == 0)
                check_ok(xac_close(other));
}

static void commit(void *words)
{
        check_ok(xac_run(env, 0, add, words));
}

static void checkpoint(void *words)
{
        check_ok(xac_run(env, XAC_NOSYNC, add, words));
        check_ok(xac_checkpoint(env));
}

static void synchronize(void *words)
{
        check_ok(xac_run(env, XAC_NOSYNC, add, words));
        check_ok(xac_sync(env));
}

static void snapshot(void *words)
{
        xac_snapshot *made;

        (void)words;
        if (xac_snapshot_open(env, 0, &made))
                return;
        check(xac_snapshot_map(made, "words", NULL) != MAP_FAILED);
        check_ok(xac_snapshot_close(made));
}

static void backup(void *words)
{
        static unsigned made;
        char name[40];

        (void)words;
        snprintf(name, sizeof(name), "backup.%u", made++);
        check_ok(xac_backup(env, scratch_path(name), NULL));
}

static void scrub(void *words)
{
        (void)words;
        check_ok(xac_scrub(env, NULL, NULL));
}

static void wait_for_ever(void *words)
{
        check_ok(xbegin(env, 0));
        check(*(uint64_t *)words != 1234567);
        (void)xac_wait(env, NULL);
}

static int wait_in_a_body(void *words)
{
        check(*(uint64_t *)words != 1234567);
        return xac_wait(env, NULL);
}

static void wait_in_a_run(void *words)
{
        (void)xac_run(env, 0, wait_in_a_body, words);
}

/* ---- Cancelling ---- */

static void *call_for_ever(void *call_)
{
        call *const *called = call_;
        uint64_t *words = xac_mmap(env, "words", PAGES * WORDS * sizeof(uint64_t), 0);

        check(words != MAP_FAILED);
        for (;; calls++) {
                (*called)(words);
                pthread_testcancel();
        }
}

static void await_calls(uint64_t before)
{
        for (int i = 0; calls == before && i < BEGUN_MS; i++)
                usleep(1000);
}

static void cancel_at_some_moment(call *called, bool is_endless)
{
        pthread_t thread;
        void *result = NULL;
        const uint64_t before = calls;

        check_equal(pthread_create(&thread, NULL, call_for_ever, &called), 0);
        if (!is_endless && chance_percent(&chance, 50))
                await_calls(before);
        usleep((useconds_t)chance_below(&chance, DELAY_US));
        check_equal(pthread_cancel(thread), 0);
        for (struct leeway left = leeway_of(10000); pthread_tryjoin_np(thread, &result) && leeway_pause(&left);)
                ;
        check(result == PTHREAD_CANCELED);
}

static unsigned descriptors(void)
{
        unsigned count = 0;
        DIR *all = opendir("/proc/self/fd");

        check(all != NULL);
        while (readdir(all))
                count++;
        closedir(all);
        return count;
}

static void expect_nothing_left(uint64_t *words, unsigned descriptors_before)
{
        xac_stats stats;
        xac_env *other;

        check_ok(xac_run(env, 0, add, words));
        check_ok(xac_stat(env, &stats));
        check_equal(stats.participants, 1);
        check(descriptors() <= descriptors_before);
        check_ok(xac_open(scratch_path("other"), XAC_CREATE, NULL, &other));
        check_ok(xac_close(other));
}

/* It takes what comes after the frames that were left for theirs. */
static void skip_where_left_frames_stay_poisoned(void)
{
#if defined(__SANITIZE_ADDRESS__)
        isolate_skip("AddressSanitizer does not know of cancelled threads");
#endif
}

static void cancel_again_and_again(call *called, bool is_endless)
{
        skip_where_left_frames_stay_poisoned();
        chance.state = chance_seed();
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        uint64_t *words = xac_mmap(env, "words", PAGES * WORDS * sizeof(uint64_t), 0);
        check(words != MAP_FAILED);
        check_ok(xac_run(env, 0, add, words));
        if (!is_endless)
                called(words); /* what it opens once and for all is open */
        const unsigned before = descriptors();
        for (int i = 0; i < ROUNDS; i++)
                cancel_at_some_moment(called, is_endless);
        expect_nothing_left(words, before);
        check_ok(xac_close(env));
}

#define cancelled_test(called, is_endless)                    \
        static void called##_may_be_cancelled(void)           \
        {                                                     \
                cancel_again_and_again((called), is_endless); \
        }
cancelled_test(open_and_close, false) cancelled_test(commit, false) cancelled_test(checkpoint, false)
        cancelled_test(synchronize, false) cancelled_test(snapshot, false) cancelled_test(backup, false)
                cancelled_test(scrub, false) cancelled_test(wait_for_ever, true) cancelled_test(wait_in_a_run, true)

                        int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(open_and_close_may_be_cancelled), isolated_test(commit_may_be_cancelled),
                isolated_test(checkpoint_may_be_cancelled),     isolated_test(synchronize_may_be_cancelled),
                isolated_test(snapshot_may_be_cancelled),       isolated_test(backup_may_be_cancelled),
                isolated_test(scrub_may_be_cancelled),          isolated_test(wait_for_ever_may_be_cancelled),
                isolated_test(wait_in_a_run_may_be_cancelled),
        };
        return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
