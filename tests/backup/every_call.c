/* SPDX-License-Identifier: MIT */

/*
 * Each system call, and each allocation, of a backup and of a restore fails once, and then for good. Either it is done
 * all the same, and whole, or the code says that it is not, and nothing is there. The environment goes on as if nothing
 * had been, and the next backup to the same place is made.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "backup/restore.h"
#include "base/sys.h"
#include "tests/failure/inject.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGE = 4096, PAGES = 20, EVERY_AGAIN = 5 };

static xac_env *env;
static unsigned char *view;
static char target[4096], partial[4096], full[4096], increment[4096]; /* scratch_path() forgets them */
static int nowhere;

static void commit(void)
{
        check_ok(xbegin(env, 0));
        for (unsigned i = 0; i < PAGES; i += 3)
                view[(size_t)i * PAGE + 5]++;
        check_ok(xend(env));
}

static int back_up(const char *path, const char *since)
{
        const xac_backup_options options = { .since = since, .stream = nowhere };

        return xac_backup(env, path, &options);
}

static int restore(const char *const *backups, uint32_t count, const char *destination)
{
        struct restore_order order = { .backups = backups, .count = count, .destination = destination };
        struct restore_result result;
        struct trouble trouble = { "" };
        int err = restore_run(&order, &result, &trouble);

        check(!err || trouble.text[0]);
        return err;
}

/* ---- What is tried ---- */

static int try_full(void)
{
        return back_up(target, NULL);
}

static int try_increment(void)
{
        return back_up(target, full);
}

static int try_stream(void)
{
        return back_up("-", full);
}

static int try_restore(void)
{
        const char *const backups[] = { full, increment };

        return restore(backups, 2, target);
}

static bool is_there(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

static void remove_tree(const char *path)
{
        char command[8300];

        snprintf(command, sizeof(command), "rm -rf '%s'", path);
        check_equal(system(command), 0);
}

static void check_whole_environment(const char *path)
{
        xac_env *other;
        const unsigned char *bytes;

        check_ok(xac_open(path, 0, NULL, &other));
        bytes = xac_mmap(other, "alpha", (size_t)PAGES * PAGE, XAC_ANYWHERE);
        check(bytes != MAP_FAILED);
        check_ok(xbegin(other, XAC_RDONLY));
        check_ok(xbegin(env, XAC_RDONLY));
        check(memcmp(bytes, view, (size_t)PAGES * PAGE) == 0);
        check_ok(xend(env));
        check_ok(xend(other));
        check_ok(xac_close(other));
}

static void check_whole_increment(const char *path)
{
        const char *const backups[] = { full, path };

        check_ok(restore(backups, 2, NULL));
}

static void check_nothing(const char *unused)
{
        (void)unused;
}

/* ---- All calls ---- */

struct attempt {
        int (*attempt)(void);
        void (*check_whole)(const char *path);
};

static void try_with(const struct attempt *attempt, const struct inject_plan *plan)
{
        int err;

        inject_start(plan);
        err = attempt->attempt();
        inject_stop();
        if (err) {
                check(!is_there(target));
                remove_tree(partial); /* what could not be removed: the failure goes on */
        } else {
                attempt->check_whole(target);
                remove_tree(target);
        }
}

/* Over what has been left. */
static void try_again(const struct attempt *attempt, const struct inject_plan *plan)
{
        inject_start(plan);
        (void)attempt->attempt();
        inject_stop();
        remove_tree(target);
        check_ok(attempt->attempt());
        attempt->check_whole(target);
        remove_tree(target);
}

static void try_each_call(const struct attempt *attempt)
{
        struct inject_plan plan = { .nth = 0 };
        static uint8_t kinds[INJECT_LIST_MAX + 1];
        int count;

        inject_start(&plan);
        check_ok(attempt->attempt());
        count = inject_stop();
        remove_tree(target);
        check(count > 20 && count <= INJECT_LIST_MAX);
        for (int i = 1; i <= count; i++)
                kinds[i] = (uint8_t)inject_kind_of(i);
        for (int i = 1; i <= count; i++)
                for (const int *error = inject_errors(kinds[i]); *error; error++) {
                        plan = (struct inject_plan){ .nth = i, .with = *error, .mode = INJECT_ONCE };
                        try_with(attempt, &plan);
                        plan.mode = INJECT_FOR_GOOD;
                        try_with(attempt, &plan);
                        if (i % EVERY_AGAIN == 0)
                                try_again(attempt, &plan);
                }
}

static void begin(void)
{
        snprintf(target, sizeof(target), "%s", scratch_path("target"));
        snprintf(partial, sizeof(partial), "%s", scratch_path(".target.partial"));
        snprintf(full, sizeof(full), "%s", scratch_path("full"));
        snprintf(increment, sizeof(increment), "%s", scratch_path("increment"));
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        check(nowhere > 0);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        view = xac_mmap(env, "alpha", (size_t)PAGES * PAGE, 0);
        check(view != MAP_FAILED);
        commit();
        check_ok(back_up(full, NULL));
        commit();
        check_ok(back_up(increment, full));
        check_ok(xac_checkpoint(env)); /* some are read from home */
}

static void end(void)
{
        commit();
        check_ok(xac_close(env));
}

static void each_call(int (*attempt)(void), void (*check_whole)(const char *path))
{
        begin();
        try_each_call(&(struct attempt){ attempt, check_whole });
        end();
}

static void each_call_of_full(void)
{
        each_call(try_full, check_whole_environment);
}

static void each_call_of_increment(void)
{
        each_call(try_increment, check_whole_increment);
}

static void each_call_of_stream(void)
{
        each_call(try_stream, check_nothing);
}

static void each_call_of_restore(void)
{
        each_call(try_restore, check_whole_environment);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(each_call_of_full, 120),
                isolated_timed(each_call_of_increment, 120),
                isolated_timed(each_call_of_stream, 120),
                isolated_timed(each_call_of_restore, 120),
        };
        return cmocka_run_group_tests_name("backup, every call", tests, NULL, NULL);
}
