/* SPDX-License-Identifier: MIT */

/*
 * xac archive: keeps the log of what is open and closed, lists commits, times and gaps, forgets, and takes a copy on to
 * any moment.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/leeway.h"
#include "tests/tools/tool.h"

#define ARCHIVE scratch_path("archive")
#define COPY    scratch_path("copy")

/* Of the environment, which is closed. */
static void copy_env(void)
{
        scratch_shell("rm -rf '%s' && cp -r '%s' '%s' && rm -f '%s'/xac.lock '%s'/xac.log.*", COPY, TOOL_ENV, COPY,
                      COPY, COPY);
}

static void make_archive(void)
{
        check_equal(mkdir(ARCHIVE, 0700), 0);
}

/* Each of tool_work's commits adds 1: sequence 1 has sum 0. */
static void a_copy_goes_on_to_any_commit(void)
{
        make_archive();
        tool_work(0, 5, TOOL_CLOSE);
        copy_env();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_said("commit 6");
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_said("commit 26");
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said("commits 2 to 6,");
        check_said("commits 7 to 26,");
        check_not_said("GAP");
        check_xac(0, "archive", "--files", ARCHIVE);
        check_said("xac.archive.");
        check_xac(0, "archive", "--until=17", ARCHIVE, COPY);
        check_said("sequence      17");
        check_said("replayed      11 commits");
        check_equal(tool_sum_of_file(COPY), 16);
        check_xac(0, "check", COPY);
        check_said("result        sound");
        check_xac(1, "archive", COPY, ARCHIVE); /* never opened: nothing is known of its log */
        copy_env();
        check_xac(0, "archive", "--until", "newest", ARCHIVE, COPY);
        check_equal(tool_sum_of_file(COPY), 25);
}

static void it_is_another_environment_then(void)
{
        xac_env *env;

        a_copy_goes_on_to_any_commit();
        check_ok(xac_open(COPY, 0, NULL, &env));
        check_ok(xac_close(env));
        check_xac(1, "archive", COPY, ARCHIVE);
        check_said("another environment");
}

/* What others change while nobody has it open is in no log, so that the log does not lead there. */
static void changes_by_others_are_a_gap(void)
{
        make_archive();
        tool_work(0, 5, TOOL_CLOSE);
        copy_env();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        scratch_shell("sleep 0.01; printf x | dd of='%s'/" TOOL_FILE " bs=1 seek=5000 conv=notrunc status=none",
                      TOOL_ENV);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("GAP: ");
        check_said("others changed the files");
        check_xac(1, "archive", "--until=newest", ARCHIVE, COPY);
        check_said("in between");
}

static void a_copy_goes_on_to_any_time(void)
{
        char until[128];
        struct timespec middle;
        struct tm tm;

        make_archive();
        tool_work(0, 5, TOOL_CLOSE);
        copy_env();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        usleep(20000);
        clock_gettime(CLOCK_REALTIME, &middle);
        usleep(20000);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        snprintf(until, sizeof(until), "--until=@%lld.%09ld", (long long)middle.tv_sec, middle.tv_nsec);
        check_xac(0, "archive", until, ARCHIVE, COPY);
        check_said("sequence      6");
        copy_env();
        gmtime_r(&middle.tv_sec, &tm);
        tm.tm_year++;
        strftime(until, sizeof(until), "--until=%Y-%m-%dT%H:%M:%SZ", &tm);
        scratch_shell("cp '%s'/xac.manifest '%s'/keep", COPY, COPY);
        check_xac(0, "archive", until, ARCHIVE, COPY);
        check_said("sequence      11");
        copy_env();
        check_xac(1, "archive", "--until=2001-01-01", ARCHIVE, COPY);
        check_said("of a later time");
        check_said("Nothing was changed");
        check_xac(2, "archive", "--until=yesterday", ARCHIVE, COPY);
        check_xac(2, "archive", "--until=2001-13-45", ARCHIVE, COPY);
        check_xac(1, "archive", "--until=12345", ARCHIVE, COPY);
        check_said("the archive ends before");
        check_xac(0, "check", COPY);
}

/* What is printed may be given back, wherever the machine is. */
static void times_have_their_offset(void)
{
        static const struct {
                const char *moment, *zone;
        } same[] = { { "2230-06-01T12:00:00Z", "UTC" },         { "2230-06-01 14:00:00+02:00", "UTC" },
                     { "2230-06-01 14:00+0200", "Asia/Tokyo" }, { "2230-06-01T08:30:00.000-03:30", "UTC" },
                     { "2230-06-01 13:00:00+01", "UTC" },       { "2230-06-01 17:30", "IST-5:30" } };

        make_archive();
        tool_work(0, 5, TOOL_CLOSE);
        copy_env();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
                char keep[64];

                setenv("TZ", same[i].zone, 1);
                snprintf(keep, sizeof(keep), "--keep-since=%s", same[i].moment);
                check_xac(1, "archive", keep, ARCHIVE);
                check_said(same[i].zone[0] == 'I'   ? "2230-06-01 17:30:00.000+05:30 is yet to come"
                           : same[i].zone[0] == 'A' ? "is yet to come"
                                                    : "2230-06-01 12:00:00.000+00:00 is yet to come");
        }
        setenv("TZ", "XYZ+3:30", 1);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said("-03:30 to 2");
        check_xac(2, "archive", "--until=2230-06-01T12:00:00+25:00", ARCHIVE, COPY);
        check_xac(2, "archive", "--until=2230-06-01-13", ARCHIVE, COPY);
        check_xac(2, "archive", "--until=2230-06-01Z", ARCHIVE, COPY);
        check_xac(2, "archive", "--until=2230-06-01.5", ARCHIVE, COPY);
        check_xac(2, "archive", "--until=2230-06-01T12:00:00+1", ARCHIVE, COPY);
        check_xac(2, "archive", "--until=2230-06-01T12:00:00+01:", ARCHIVE, COPY);
        check_xac(2, "archive", "--until=2230-06-01T12:00:00+01:60", ARCHIVE, COPY);
        unsetenv("TZ");
}

/* The moment of the last commit, as it is printed, is one that has the last commit. */
static void a_printed_time_may_be_given_back(void)
{
        char until[128] = "--until=";

        make_archive();
        tool_work(0, 5, TOOL_CLOSE);
        copy_env();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(0, "archive", "--list", ARCHIVE);
        const char *last = NULL;
        for (const char *at = tool.said; (at = strstr(at, " to 2")) != NULL; at++)
                last = at;
        check(last != NULL && sscanf(last, " to %60[^,]", until + strlen(until)) == 1);
        check_xac(0, "archive", until, ARCHIVE, COPY);
        check_said("sequence      11");
}

/* What a checkpoint has given up in between. */
static void gaps_are_told(void)
{
        xac_options options = { .log_bytes = 256 << 10 };
        xac_env *env;

        make_archive();
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_ok(xac_close(env));
        tool_work(0, 5, TOOL_CLOSE);
        copy_env();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        tool_work(0, 40, TOOL_CLOSE);
        tool_work(0, 40, TOOL_CLOSE);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(1, "archive", "--quiet", TOOL_ENV, ARCHIVE);
        check_said("GAP: it ended at position ");
        check_said(", commit 6, and the log of ");
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("GAP: the log in between is missing");
        check_xac(1, "archive", "--until=newest", ARCHIVE, COPY);
        check_said("missing");
        check_xac(0, "archive", "--until=6", ARCHIVE, COPY);
}

/* Somebody opened it without its archive, which did not have all yet: there is nothing to take, and yet a gap. */
static void what_was_given_up_is_told_until_log_comes(void)
{
        xac_env *env;

        make_archive();
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, NULL, &env));
        check_ok(xac_close(env));
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_said("there is no log to take yet");
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        tool_work(0, 40, TOOL_CLOSE);
        check_ok(xac_open(TOOL_ENV, 0, NULL, &env));
        check_ok(xac_close(env));
        for (int i = 0; i < 2; i++) {
                check_xac(1, "archive", TOOL_ENV, ARCHIVE);
                check_said("GAP: it ended at position ");
                check_not_said("nothing new");
        }
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("commit 51");
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_said("nothing new");
        check_xac(1, "archive", "--list", ARCHIVE);
}

static void work_until_it_takes_nothing(int unused, void *archive)
{
        xac_options options = { .archive = archive, .log_bytes = 256 << 10 };
        xac_stats stats = { 0 };
        xac_env *env;
        uint64_t *words;

        (void)unused;
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        words = xac_mmap(env, TOOL_FILE, TOOL_PAGES * 4096, 0);
        check(words != MAP_FAILED);
        scratch_shell("mv '%s' '%s'", ARCHIVE, scratch_path("away"));
        for (struct leeway left = leeway_of(10000); !stats.archive_error; check(leeway_pause(&left))) {
                for (unsigned i = 0; i < 20; i++)
                        tool_commit(env, words, i % TOOL_PAGES, 0);
                check_ok(xac_stat(env, &stats));
        }
        check_ok(xac_sync(env));
        raise(SIGSTOP);
}

/* Whole segments the tool takes itself; behind them it tells why nobody takes what there is. */
static void what_its_programs_cannot_archive_is_told(void)
{
        static char path[600];
        int status;

        make_archive();
        snprintf(path, sizeof(path), "%s", ARCHIVE);
        pid_t pid = crew_fork(work_until_it_takes_nothing, 0, path);
        check_equal(waitpid(pid, &status, WUNTRACED), pid);
        check(WIFSTOPPED(status));
        scratch_shell("mv '%s' '%s'", scratch_path("away"), ARCHIVE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("of log on disk are not taken");
        check_said("No such file");
        check_not_said("nothing new");
        kill(pid, SIGKILL);
        crew_status(pid);
        tool_archive = path;
        tool_work(0, 0, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
}

/* The whole segments of a log that is in use. */
static void what_is_in_use_is_archived_too(void)
{
        xac_options options = { .log_bytes = 4 << 20 };
        xac_env *env;
        uint64_t *words;

        make_archive();
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_ok(xac_close(env));
        words = tool_open(0, &env);
        for (unsigned i = 0; i < 60; i++)
                tool_commit(env, words, i % 16, 0);
        check_xac(0, "archive", "--plain", TOOL_ENV, ARCHIVE);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said("commits 2 to ");
        check_xac(3, "archive", "--until=newest", ARCHIVE, TOOL_ENV);
        check_said("is in use");
        check_ok(xac_close(env));
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said(" to 61,");
}

static void what_is_old_is_removed(void)
{
        make_archive();
        for (unsigned i = 0; i < 6; i++) {
                tool_work(0, 5, TOOL_CLOSE);
                if (i == 3)
                        copy_env();
                check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        }
        check_xac(0, "archive", "--keep-since=21", ARCHIVE);
        check_said("removed       4 files");
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said("commits 22 to 26");
        check_not_said("commits 17 to 21");
        check_xac(0, "archive", "--until=31", ARCHIVE, COPY);
        check_equal(tool_sum_of_file(COPY), 30);
        check_xac(0, "archive", "--keep-since=newest", ARCHIVE);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said("commits 27 to 31");
}

/* 5 commits, "backup", and so many more; the option for `xac restore`. */
static const char *archive_behind_a_backup(unsigned commits)
{
        static char option[512];
        xac_options options = { .archive = ARCHIVE };
        xac_env *env;

        make_archive();
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_ok(xac_close(env));
        check_xac(0, "stat", TOOL_ENV);
        check_said("archive, which the last session named");
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("backup"));
        tool_work(0, commits, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        snprintf(option, sizeof(option), "--archive=%s", ARCHIVE);
        return option;
}

static void a_backup_goes_on_to_any_commit(void)
{
        const char *archive = archive_behind_a_backup(20);
        char until[64];

        snprintf(until, sizeof(until), "--until=%d", 17);
        check_xac(0, "restore", archive, until, scratch_path("backup"), COPY);
        check_said("sequence      17");
        check_equal(tool_sum_of_file(COPY), 16);
        check_xac(0, "check", COPY);
        check_equal(scratch_file_size(scratch_path("copy/xac.backup")), -ENOENT);
        check_xac(0, "restore", archive, scratch_path("backup"), scratch_path("newest"));
        check_equal(tool_sum_of_file(scratch_path("newest")), 25);
        check_xac(1, "restore", archive, "--until=3", scratch_path("backup"), scratch_path("early"));
        check_said("the backup is of a later commit");
        check_equal(scratch_file_size(scratch_path("early")), -ENOENT);
        check_xac(2, "restore", "--until=3", scratch_path("backup"), scratch_path("none"));
        check_xac(2, "restore", archive, "--until=never", scratch_path("backup"), scratch_path("none"));
}

/* A backup and a scrub open what nobody has open, and are in nobody's way; what a killed program has left is archived
 * before its log is given up. */
static void backups_keep_the_archive(void)
{
        char archive[512];
        xac_options options = { .archive = ARCHIVE };
        int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
        const char *const slow[] = { "scrub", "--rate=4K", TOOL_ENV, NULL };
        xac_env *env;

        make_archive();
        tool_archive = strdup(ARCHIVE);
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_ok(xac_close(env));
        check_xac(0, "backup", TOOL_ENV, scratch_path("first"));
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "backup", TOOL_ENV, scratch_path("backup"));
        pid_t pid = tool_start(slow, silence);
        usleep(300000);
        tool_work(0, 5, TOOL_CLOSE);
        kill(pid, SIGKILL);
        check_equal(waitpid(pid, NULL, 0), pid);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_not_said("GAP");
        snprintf(archive, sizeof(archive), "--archive=%s", ARCHIVE);
        check_xac(0, "restore", archive, scratch_path("first"), COPY);
        check_equal(tool_sum_of_file(COPY), 30);
        check_equal(rename(ARCHIVE, scratch_path("moved")), 0);
        check_xac(1, "backup", TOOL_ENV, scratch_path("second"));
        check_said("cannot be reached");
        check_xac(1, "scrub", TOOL_ENV);
        check_equal(rename(scratch_path("moved"), ARCHIVE), 0);
        tool_work(0, 1, TOOL_CLOSE);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_not_said("GAP");
        check_equal(rename(ARCHIVE, scratch_path("moved")), 0);
        check_xac(0, "backup", "--force", TOOL_ENV, scratch_path("second"));
        check_said("going on without its archive");
        copy_env(); /* lies elsewhere: has nothing to do with it */
        check_xac(0, "scrub", COPY);
        check_not_said("archive");
}

/* The directory is there as of the moment that was asked for, or not at all. */
static void a_restore_that_is_killed_leaves_nothing(void)
{
        const char *archive = archive_behind_a_backup(200);
        unsigned whole = 0;

        for (unsigned i = 0; i < 60; i++) {
                int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
                const char *const args[] = { "restore", archive, scratch_path("backup"), COPY, NULL };
                pid_t pid = tool_start(args, silence);

                usleep(1000 + 500 * i);
                kill(pid, i % 2 ? SIGKILL : SIGINT);
                check_equal(waitpid(pid, NULL, 0), pid);
                close(silence);
                if (access(COPY, F_OK) != 0)
                        continue;
                whole++;
                check_equal(tool_sum_of_file(COPY), 205);
                check_xac(0, "check", COPY);
                scratch_shell("rm -r '%s'", COPY);
        }
        check_xac(0, "restore", archive, scratch_path("backup"), COPY);
        check_equal(tool_sum_of_file(COPY), 205);
        printf("%u of 60 were done before\n", whole);
}

/* Of a log whose end is not certain yet only what is; then what recovery has made of it. */
static void a_crash_in_between_leaves_no_gap(void)
{
        make_archive();
        tool_work(0, 5, TOOL_CLOSE);
        copy_env();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(0, "recover", TOOL_ENV);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_xac(0, "archive", "--until=20", ARCHIVE, COPY);
        check_equal(tool_sum_of_file(COPY), 19);
        copy_env();
        check_equal(tool_sum_of_file(COPY), 30);
}

static void stat_tells_of_it(void)
{
        xac_options options = { .archive = ARCHIVE };
        xac_env *env;

        make_archive();
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_xac(0, "stat", TOOL_ENV);
        check_said("/archive, up to commit 1; 0 bytes of log on disk not yet there");
        check_not_said("IT TAKES NOTHING");
        check_ok(xac_close(env));
}

/* What is there has no marker: on purpose, a new one begins there. */
static void a_new_one_begins_on_purpose(void)
{
        static char path[600];

        make_archive();
        snprintf(path, sizeof(path), "%s", ARCHIVE);
        tool_archive = path;
        tool_work(0, 5, TOOL_CLOSE);
        scratch_shell("mv '%s' '%s' && mkdir '%s'", ARCHIVE, scratch_path("away"), ARCHIVE);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("is it not mounted");
        check_xac(1, "backup", TOOL_ENV, scratch_path("backup"));
        tool_archive = NULL; /* nor does who opens it without an archive make it forget */
        tool_work(0, 0, TOOL_CLOSE);
        tool_archive = path;
        check_xac(0, "stat", TOOL_ENV);
        check_said("none in the last session; before that ");
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("is it not mounted");
        check_xac(0, "archive", "--new", TOOL_ENV);
        check_xac(0, "stat", TOOL_ENV);
        check_not_said("before that");
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", "--list", ARCHIVE);
        check_said("commits 7 to 11,");
        tool_work(0, 5, TOOL_KILL);
        check_xac(3, "archive", "--new", TOOL_ENV);
        check_said("keeps its archive until all have closed it");
        check_equal(tool_sum(), 15);
        check_xac(2, "archive", "--new", TOOL_ENV, ARCHIVE);
        check_xac(2, "archive", "--new", "--list", TOOL_ENV);
}

static void usage(void)
{
        make_archive();
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", "--help");
        check_said("Usage: xac archive");
        check_xac(2, "archive");
        check_xac(2, "archive", ARCHIVE);
        check_xac(2, "archive", "--list");
        check_xac(2, "archive", "--list", "--until=3", ARCHIVE);
        check_xac(2, "archive", "--nothing", ARCHIVE);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("holds no archive");
        check_xac(1, "archive", TOOL_ENV, scratch_path("nowhere"));
        check_xac(1, "archive", "--list", scratch_path("nowhere"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_copy_goes_on_to_any_commit),
                isolated_test(it_is_another_environment_then),
                isolated_test(a_copy_goes_on_to_any_time),
                isolated_test(times_have_their_offset),
                isolated_test(a_printed_time_may_be_given_back),
                isolated_test(a_new_one_begins_on_purpose),
                isolated_test(gaps_are_told),
                isolated_test(what_was_given_up_is_told_until_log_comes),
                isolated_test(what_its_programs_cannot_archive_is_told),
                isolated_test(what_is_in_use_is_archived_too),
                isolated_test(changes_by_others_are_a_gap),
                isolated_test(what_is_old_is_removed),
                isolated_test(a_backup_goes_on_to_any_commit),
                isolated_test(backups_keep_the_archive),
                isolated_test(a_restore_that_is_killed_leaves_nothing),
                isolated_test(a_crash_in_between_leaves_no_gap),
                isolated_test(stat_tells_of_it),
                isolated_test(usage),
        };

        return cmocka_run_group_tests_name("tools/archive", tests, NULL, NULL);
}
