/* SPDX-License-Identifier: MIT */

/*
 * xac stat: at rest, in use, killed, recovered; and that it changes nothing.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_lock.h"
#include "tests/support/actor.h"
#include "tests/support/own_shm.h"
#include "tests/tools/tool.h"

static void at_rest_and_clean(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "stat", TOOL_ENV);
        check_said("at rest, clean");
        check_said("21 as of the checkpoint"); /* the first commit is 2 */
        check_said(TOOL_FILE "  64 KiB (65536 bytes)");
        check_said("pages of 4096 bytes");
        check_said("permissions 0600");
}

static void open_and_close(int unused, void *unused2)
{
        xac_env *env;

        (void)unused, (void)unused2;
        check_ok(xac_open(TOOL_ENV, 0, NULL, &env));
        check_ok(xac_close(env));
}

static bool is_awaited(int fd)
{
        struct flock turn = { .l_type = F_WRLCK, .l_start = (off_t)BYTE_LOCK_TURN, .l_len = 1 };

        check_equal(fcntl(fd, F_OFD_GETLK, &turn), 0);
        return turn.l_type != F_UNLCK;
}

/* Who waits until nobody reads it has not opened it yet. */
static void who_waits_does_not_have_it_open(void)
{
        xac_env *env;

        tool_work(0, 20, TOOL_CLOSE);
        check_ok(xac_open(TOOL_ENV, XAC_RDONLY, NULL, &env));
        const int fd = open(tool_path("xac.lock"), O_RDWR | O_CLOEXEC);
        pid_t writer = crew_fork(open_and_close, 0, NULL);
        while (!is_awaited(fd))
                crew_sleep_ms(1);
        check_xac(0, "stat", TOOL_ENV);
        check_said("at rest, clean");
        check_xac(0, "check", TOOL_ENV);
        close(fd);
        check_ok(xac_close(env));
        crew_join(writer);
}

static void after_a_power_cut_it_needs_recovery(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "stat", TOOL_ENV);
        check_said("needs recovery");
        check_said("20 commits beyond the checkpoint, up to sequence 21");
        check_equal(tool_sum(), 20);
        check_xac(0, "stat", TOOL_ENV);
        check_said("at rest, clean");
}

static void after_sigkill_its_commits_are_in_shared_memory(void)
{
        tool_work(XAC_VOLATILE, 20, TOOL_KILL);
        check_xac(0, "stat", TOOL_ENV);
        check_said("ended without xac_close");
        check_said("xac clean --force");
        check_said("sequence      21 (volatile");
        check_said("DEAD");
        tool_power_cut();
        tool_work(0, 20, TOOL_KILL);
        check_xac(0, "stat", TOOL_ENV);
        check_said("ended without xac_close");
        check_said(", durable 21");
        check_said("16 dirty pages");
        check_equal(tool_sum(), 20);
}

static void who_never_closed_was_not_killed(void)
{
        tool_work(0, 20, TOOL_LEAVE);
        check_xac(0, "stat", TOOL_ENV);
        check_said("ended without xac_close (killed, or never closed)");
        check_not_said("were killed");
        check_equal(tool_sum(), 20);
}

static void a_directory_that_is_gone_may_have_left_something(void)
{
        char command[512];

        own_shm("256m");
        tool_work(0, 20, TOOL_KILL);
        snprintf(command, sizeof(command), "rm -r '%s'", TOOL_ENV);
        check_equal(system(command), 0);
        check_xac(1, "stat", TOOL_ENV);
        check_said("No such file");
        check_said("its shared memory is left: xac clean");
        check_xac(0, "clean", TOOL_ENV);
        check_said("removed");
        check_xac(1, "stat", TOOL_ENV);
        check_not_said("shared memory");
}

/* ---- /dev/shm ---- */

static void too_little_shared_memory_is_said(void)
{
        xac_env *env;

        own_shm("16m");
        tool_open(0, &env); /* with a pool of 8 MiB */
        check_xac(0, "stat", TOOL_ENV);
        check_said("/dev/shm      16 MiB");
        check_not_said("TOO LITTLE");
        int fd = open("/dev/shm/others", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        check(fd >= 0);
        check_equal(posix_fallocate(fd, 0, 10 << 20), 0);
        close(fd);
        check_xac(0, "stat", TOOL_ENV);
        check_said("TOO LITTLE");
        check_said("--shm-size");
        check_ok(xac_close(env));
}

/* ---- In use ---- */

struct stage {
        struct crew_turn turn;
};

/* A reader that holds its snapshot until it is told to go on. */
static void hold_snapshot(int unused, void *stage_)
{
        struct stage *stage = stage_;
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused;
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[5], 0);
        crew_turn_pass(&stage->turn); /* 1 */
        crew_turn_await(&stage->turn, 2);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void in_use_it_tells_who_reads_as_of_when(void)
{
        struct stage *stage = crew_shared(sizeof(*stage));
        pid_t reader = crew_fork(hold_snapshot, 0, stage);
        char expected[80];
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        crew_turn_await(&stage->turn, 1);
        for (unsigned i = 0; i < 5; i++)
                tool_commit(env, words, i, 0);
        check_xac(0, "stat", TOOL_ENV);
        check_said("in use by 2 processes");
        check_said("sequence      6, durable 6");
        check_said("snapshot 1, 5 commits behind");
        snprintf(expected, sizeof(expected), "pid %d  alive", (int)reader);
        check_said(expected);
        snprintf(expected, sizeof(expected), "pid %d  alive", (int)getpid());
        check_said(expected);
        check_said("5 commits, 0 conflicts");
        check_equal(tool_count_said("mappings of the pool"), 2);
        check_not_said("DEAD");
        crew_turn_pass(&stage->turn);
        crew_join(reader);
        check_xac(0, "stat", TOOL_ENV);
        check_said("in use by 1 process\n");
        check_not_said("behind");
        check_ok(xac_close(env));
}

static int look_after_sixteen_losses(void *calls)
{
        if (++*(int *)calls <= 16)
                return XAC_CONFLICT;
        check_xac(0, "stat", TOOL_ENV);
        check_said("EXCLUSIVE");
        return 0;
}

static void it_tells_who_is_exclusive(void)
{
        int calls = 0;
        xac_env *env;

        tool_open(0, &env);
        check_ok(xac_run(env, 0, look_after_sixteen_losses, &calls));
        check_equal(calls, 17);
        check_xac(0, "stat", TOOL_ENV);
        check_not_said("EXCLUSIVE");
        check_ok(xac_close(env));
}

static long long wait_in_environment(uint64_t unused)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused;
        do {
                check_ok(xbegin(env, 0));
        } while (words[0] == 0 && xac_wait(env, NULL) == XAC_CONFLICT);
        check_ok(xend(env));
        check_ok(xac_close(env));
        return 0;
}

static void it_tells_who_waits(void)
{
        struct actor *other = actor_start(WAY_PROCESS);
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        actor_send(other, wait_in_environment, 0);
        do {
                crew_sleep_ms(1);
                check_xac(0, "stat", TOOL_ENV);
        } while (!strstr(tool.said, "waits for a change"));
        check_ok(xbegin(env, 0));
        words[0] = 1;
        check_ok(xend(env));
        actor_result(other);
        actor_stop(other);
        check_ok(xac_close(env));
}

static void the_mappings_of_a_view_are_counted(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);
        unsigned before, after;
        const char *at;

        check_xac(0, "stat", TOOL_ENV);
        at = strstr(tool.said, " mappings of the pool");
        check(at != NULL);
        for (before = 0; at > tool.said && at[-1] >= '0' && at[-1] <= '9'; at--)
                before = (unsigned)atoi(at - 1);
        /* Every other page: none is next to another one that is shown. */
        check_ok(xbegin(env, 0));
        for (unsigned page = 0; page < TOOL_PAGES; page += 2)
                words[page * 512 + 5]++;
        check_xac(0, "stat", TOOL_ENV);
        at = strstr(tool.said, " mappings of the pool");
        check(at != NULL);
        for (after = 0; at > tool.said && at[-1] >= '0' && at[-1] <= '9'; at--)
                after = (unsigned)atoi(at - 1);
        check_equal(after, before + TOOL_PAGES / 2);
        check_said("8 of open transactions");
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void it_changes_nothing(void)
{
        uint64_t before;
        xac_env *env;
        xac_stats stats;

        tool_work(0, 20, TOOL_KILL);
        before = tool_state_of_everything();
        check_xac(0, "stat", TOOL_ENV);
        check_equal(tool_state_of_everything(), before);
        (void)tool_open(0, &env);
        before = tool_state_of_everything();
        check_xac(0, "stat", TOOL_ENV);
        check_equal(tool_state_of_everything(), before);
        check_ok(xac_stat(env, &stats));
        check_equal(stats.participants, 1);
        check_ok(xac_close(env));
        before = tool_fingerprint(TOOL_ENV);
        check_xac(0, "stat", TOOL_ENV);
        check_equal(tool_fingerprint(TOOL_ENV), before);
}

/* The shared memory of another directory, or of an earlier life of this one, is not taken for its own. */
static void stale_shared_memory_is_not_believed(void)
{
        struct stat dir;
        char path[100];
        int status;

        tool_work(0, 20, TOOL_CLOSE);
        check_equal(stat(TOOL_ENV, &dir), 0);
        snprintf(path, sizeof(path), "/dev/shm/xac.%" PRIxMAX ".%" PRIxMAX ".control", (uintmax_t)dir.st_dev,
                 (uintmax_t)dir.st_ino);
        scratch_write_file(path, "no control area", 15);
        status = tool_xac(tool_args("stat", TOOL_ENV));
        unlink(path);
        tool_check_status(__FILE__, __LINE__, status, 0);
        check_said("at rest, clean");
}

static void a_missing_file_is_told(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        check_xac(0, "stat", TOOL_ENV);
        check_said(TOOL_FILE "  MISSING");
}

/* What all children that have ended have computed. */
static uint64_t computed_ms(void)
{
        struct rusage usage;

        check_ok(getrusage(RUSAGE_CHILDREN, &usage));
        return (uint64_t)usage.ru_utime.tv_sec * 1000 + (uint64_t)usage.ru_utime.tv_usec / 1000;
}

/* Everybody may make as many names there as fit. Each is looked at, but not each pair of them. */
static void names_in_shared_memory_may_be_many(void)
{
        enum { MANY = 80000, MOST_MS = 1000 };
        char path[100];

        own_shm("256m");
        for (unsigned i = 1; i <= MANY; i++) {
                snprintf(path, sizeof(path), "/dev/shm/xac.1.%x.pool", i * 0x9e3779b1U);
                const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
                check(fd >= 0);
                close(fd);
        }
        const uint64_t before_ms = computed_ms();
        check_xac(0, "clean", scratch_path("nowhere"));
        check_said("no shared memory of that directory");
        check(computed_ms() - before_ms < MOST_MS);
        check_equal(own_shm_files(), MANY);
}

/* Of a backup that a program has open, too: text and JSON agree. */
static void a_backup_that_is_damaged_is_told_in_both_ways(void)
{
        const char *index = scratch_path("backup/xac.backup");
        xac_env *env;

        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("backup"));
        check_ok(xac_open(scratch_path("backup"), 0, NULL, &env));
        check_xac(0, "stat", scratch_path("backup"));
        check_said("backup        ");
        check_xac(0, "stat", "--json", scratch_path("backup"));
        check_equal(truncate(index, 20), 0);
        check_xac(1, "stat", scratch_path("backup"));
        check_said("xac.backup");
        check_xac(1, "stat", "--json", scratch_path("backup"));
        check_ok(xac_close(env));
        check_xac(1, "stat", scratch_path("backup"));
        check_xac(1, "stat", "--json", scratch_path("backup"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(at_rest_and_clean),
                isolated_test(who_waits_does_not_have_it_open),
                isolated_test(a_backup_that_is_damaged_is_told_in_both_ways),
                isolated_test(after_a_power_cut_it_needs_recovery),
                isolated_test(who_never_closed_was_not_killed),
                isolated_test(a_directory_that_is_gone_may_have_left_something),
                isolated_test(too_little_shared_memory_is_said),
                isolated_test(after_sigkill_its_commits_are_in_shared_memory),
                isolated_test(in_use_it_tells_who_reads_as_of_when),
                isolated_test(it_tells_who_is_exclusive),
                isolated_test(it_tells_who_waits),
                isolated_test(the_mappings_of_a_view_are_counted),
                isolated_test(it_changes_nothing),
                isolated_test(stale_shared_memory_is_not_believed),
                isolated_test(a_missing_file_is_told),
                isolated_test(names_in_shared_memory_may_be_many),
        };
        return cmocka_run_group_tests_name("xac stat", tests, NULL, NULL);
}
