/* SPDX-License-Identifier: MIT */

/*
 * A restore goes on from a backup by the commits that followed it, and by no others of the same numbers: where others
 * have changed files, where a copy went on by itself, where the environment was set back; and where an archive's
 * directory is another one for a while. A time means the commits of that time, and retention leaves what they need.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"
#include "recovery/manifest.h"
#include "tests/tools/tool.h"

#define ARCHIVE scratch_path("archive")
#define BACKUP  scratch_path("backup")
#define COPY    scratch_path("copy")

static void begin_archive(void)
{
        check_equal(mkdir(ARCHIVE, 0700), 0);
        tool_archive = strdup(ARCHIVE);
}

static void restore(int status, const char *said)
{
        check_xac(status, "restore", "--archive", ARCHIVE, BACKUP, COPY);
        check_said(said);
}

static void change_by_others(void)
{
        scratch_shell("sleep 0.05; printf xyz | dd of='%s'/" TOOL_FILE " bs=1 seek=5000 conv=notrunc status=none",
                      TOOL_ENV);
}

static void in_a_process(void (*body)(int commits, void *arg), int commits, void *arg)
{
        check_equal(crew_status(crew_fork(body, commits, arg)), 0);
}

/* ---- Changes by others ---- */

static void fail_to_open(int unused, void *archive)
{
        const xac_options options = { .pool_bytes = 8 << 20, .log_bytes = 64 << 20, .archive = archive };
        xac_env *env;

        (void)unused;
        check(xac_open(TOOL_ENV, 0, &options, &env) != 0);
}

/* The open has taken the change over when it fails for another reason: its archive is none. */
static void a_change_is_remembered_when_the_open_fails(void)
{
        begin_archive();
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, BACKUP);
        change_by_others();
        check_equal(mkdir(scratch_path("wrong"), 0700), 0);
        scratch_write_file(scratch_path("wrong/xac.archive.0000000000010000-0000000000020000.00000009"), "", 0);
        in_a_process(fail_to_open, 0, strdup(scratch_path("wrong")));
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("GAP: ");
        restore(1, "others changed the files");
}

/* A session without a log has given the history its number; the change gives it another one. */
static void a_change_after_a_volatile_session_is_told_from_it(void)
{
        check_equal(mkdir(ARCHIVE, 0700), 0);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        tool_work(XAC_VOLATILE, 5, TOOL_CLOSE);
        scratch_shell("cp -r '%s' '%s' && rm -f '%s'/xac.lock '%s'/xac.log.*", TOOL_ENV, COPY, COPY, COPY);
        change_by_others();
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(1, "archive", "--until=newest", ARCHIVE, COPY);
        check_said("a change by others");
}

/* ---- Copies ---- */

/* A snapshot of the file system as of commit 11, a backup of commit 21. */
static void be_copied(int commits, void *unused)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused;
        for (int i = 0; i < commits; i++) {
                if (i == 5)
                        scratch_shell("cp -r '%s' '%s'", TOOL_ENV, scratch_path("snapshot"));
                tool_commit(env, words, i < 10 ? 1 : 2, 0);
                if (i == 14)
                        check_ok(xac_backup(env, BACKUP, NULL));
        }
        check_ok(xac_close(env));
}

/* And it goes on with other commits of the same numbers, in few parts or in many. */
static void set_back(unsigned sessions)
{
        begin_archive();
        tool_work(0, 5, TOOL_CLOSE);
        in_a_process(be_copied, 20, NULL);
        scratch_shell("rm -r '%s' && cp -r '%s' '%s'", TOOL_ENV, scratch_path("snapshot"), TOOL_ENV);
        for (unsigned i = 0; i < sessions; i++)
                tool_work(0, 40 / sessions, TOOL_CLOSE);
        restore(1, "set back");
}

static void what_was_set_back_is_another_history(void)
{
        set_back(1);
}

static void so_it_is_after_more_sessions(void)
{
        set_back(4);
}

static void be_other(int commits, void *path)
{
        const xac_options options = { .pool_bytes = 8 << 20, .log_bytes = 64 << 20 };
        xac_env *env;
        uint64_t *words;

        check_ok(xac_open(path, 0, &options, &env));
        words = xac_mmap(env, TOOL_FILE, (size_t)TOOL_PAGES * 4096, 0);
        check(words != MAP_FAILED);
        for (int i = 0; i < commits; i++)
                tool_commit(env, words, 3, 0);
        check_ok(xac_close(env));
}

static void let_the_clock_have_been_ahead(void)
{
        static struct manifest manifest;
        int directory;

        check_ok(sys_open(AT_FDCWD, TOOL_ENV, O_RDONLY | O_DIRECTORY, 0, &directory));
        check_ok(manifest_read(directory, &manifest));
        manifest.time_ns = sys_wall_ns() + UINT64_C(86400000000000);
        check_ok(manifest_write(directory, &manifest));
        sys_close(directory);
}

/* Both sessions have the time behind the last one, as the clock is of no use. */
static void copies_are_told_apart_while_the_clock_is_behind(void)
{
        begin_archive();
        tool_work(0, 5, TOOL_CLOSE);
        let_the_clock_have_been_ahead();
        scratch_shell("cp -r '%s' '%s'", TOOL_ENV, scratch_path("second"));
        in_a_process(be_other, 5, strdup(scratch_path("second")));
        check_xac(0, "backup", scratch_path("second"), BACKUP);
        tool_work(0, 10, TOOL_CLOSE);
        restore(1, "went on by itself");
}

/* ---- Another directory for a while ---- */

static void commit_noise(xac_env *env, uint64_t *words, int commits)
{
        static uint64_t x = UINT64_C(88172645463325252);

        for (int i = 0; i < commits; i++) {
                check_ok(xbegin(env, 0));
                for (int k = 0; k < 5 * 512; k++) {
                        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
                        words[k] = x;
                }
                check_ok(xend(env));
        }
}

static uint64_t *open_small(xac_env **env)
{
        const xac_options options = { .pool_bytes = 64 << 20, .log_bytes = 256 << 10, .archive = tool_archive };
        uint64_t *words;

        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, env));
        words = xac_mmap(*env, TOOL_FILE, (size_t)64 * 4096, 0);
        check(words != MAP_FAILED);
        return words;
}

/* As where a disk is unmounted, and mounted again: what is logged meanwhile waits. */
static void lose_the_directory_for_a_while(int unused, void *aside)
{
        xac_env *env;
        uint64_t *words = open_small(&env);

        (void)unused;
        commit_noise(env, words, 20);
        check_equal(rename(ARCHIVE, aside), 0);
        check_equal(mkdir(ARCHIVE, 0700), 0);
        commit_noise(env, words, 30);
        check_equal(rmdir(ARCHIVE), 0); /* nothing is in it */
        check_equal(rename(aside, ARCHIVE), 0);
        commit_noise(env, words, 10);
        check_ok(xac_close(env));
}

static void an_archive_that_is_away_is_waited_for(void)
{
        begin_archive();
        in_a_process(lose_the_directory_for_a_while, 0, strdup(scratch_path("aside")));
        check_xac(0, "archive", "--list", ARCHIVE);
        check_not_said("GAP");
}

/* ---- Times ---- */

enum { MOMENTS = 24 };

/* The newest commit at that time. */
struct moment {
        struct timespec at;
        uint64_t sequence;
};

/* Each commit begins in one segment and ends in another, after a small one that did not wait. */
static void commit_and_note(int commits, void *moments)
{
        struct moment *moment = moments;
        xac_env *env;
        uint64_t *words = open_small(&env);
        xac_stats stats;

        for (int i = 0; i < commits; i++) {
                check_ok(xbegin(env, XAC_NOSYNC));
                words[512 * 30] = (uint64_t)i;
                check_ok(xend(env));
                commit_noise(env, words, 1);

                usleep(3000);
                clock_gettime(CLOCK_REALTIME, &moment[i].at);
                check_ok(xac_stat(env, &stats));
                moment[i].sequence = stats.sequence;
                usleep(3000);
        }
        check_ok(xac_close(env));
}

static const char *at_time(const char *option, const struct moment *moment)
{
        static char text[128];

        snprintf(text, sizeof(text), "%s=@%lld.%09ld", option, (long long)moment->at.tv_sec, moment->at.tv_nsec);
        return text;
}

/* The last number of a label that was said; 0: none. */
static uint64_t said_last(const char *label)
{
        uint64_t number = 0;

        for (const char *at = tool.said; (at = strstr(at, label)); at++)
                number = strtoull(at + strlen(label), NULL, 10);
        return number;
}

static const struct moment *make_moments(void)
{
        struct moment *moments = crew_shared(MOMENTS * sizeof(*moments));

        begin_archive();
        in_a_process(commit_and_note, 1, moments);
        check_xac(0, "backup", TOOL_ENV, BACKUP);
        in_a_process(commit_and_note, MOMENTS, moments);
        return moments;
}

/* The last session's clock said tomorrow, and so does what never goes back. */
static void a_clock_that_was_ahead_misleads_nobody(void)
{
        struct moment *moments = crew_shared(MOMENTS * sizeof(*moments));

        begin_archive();
        in_a_process(commit_and_note, 1, moments);
        check_xac(0, "backup", TOOL_ENV, BACKUP);
        let_the_clock_have_been_ahead();
        in_a_process(commit_and_note, MOMENTS, moments);
        for (int i = 0; i < MOMENTS; i += 5) {
                scratch_shell("rm -rf '%s'", COPY);
                check_xac(0, "restore", "--archive", ARCHIVE, at_time("--until", &moments[i]), BACKUP, COPY);
                check_equal(said_last("sequence      "), moments[i].sequence);
                check_said("the clock was set back by up to 86");
        }
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said("the clock was set back by up to 86");
}

/* Also where the archive ends within a group, as when the environment's disk died. */
static void no_commit_is_of_a_later_time(void)
{
        const struct moment *moments = make_moments();

        for (int part = 0; part < 6; part++) {
                for (int i = 2; i < MOMENTS; i++) {
                        scratch_shell("rm -rf '%s'", COPY);
                        (void)tool_xac(tool_args("restore", "--archive", ARCHIVE, at_time("--until", &moments[i]),
                                                 BACKUP, COPY));
                        check(said_last("sequence      ") <= moments[i].sequence);
                }
                scratch_shell("rm \"$(ls '%s'/xac.archive.0* | tail -1)\"", ARCHIVE);
        }
}

/* What a backup as of that moment lacks. */
static void retention_leaves_what_comes_after_a_time(void)
{
        const struct moment *moments = make_moments();

        for (int i = 0; i + 1 < MOMENTS; i++) {
                uint64_t reached;

                scratch_shell("rm -rf '%s' '%s' && cp -r '%s' '%s'", COPY, scratch_path("kept"), ARCHIVE,
                              scratch_path("kept"));
                check_xac(0, "restore", "--archive", ARCHIVE, at_time("--until", &moments[i]), BACKUP, COPY);
                reached = said_last("sequence      ");
                check_xac(0, "archive", at_time("--keep-since", &moments[i]), scratch_path("kept"));
                check_xac(0, "archive", "--list", scratch_path("kept"));
                check(strtoull(strstr(tool.said, "commits ") + strlen("commits "), NULL, 10) <= reached + 1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_change_is_remembered_when_the_open_fails),
                isolated_test(a_change_after_a_volatile_session_is_told_from_it),
                isolated_test(what_was_set_back_is_another_history),
                isolated_test(so_it_is_after_more_sessions),
                isolated_test(copies_are_told_apart_while_the_clock_is_behind),
                isolated_test(a_clock_that_was_ahead_misleads_nobody),
                isolated_test(an_archive_that_is_away_is_waited_for),
                isolated_timed(no_commit_is_of_a_later_time, 120),
                isolated_timed(retention_leaves_what_comes_after_a_time, 120),
        };
        return cmocka_run_group_tests_name("xac archive: histories and times", tests, NULL, NULL);
}
