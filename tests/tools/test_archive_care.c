/* SPDX-License-Identifier: MIT */

/*
 * xac archive looks after archives: it tells what is damaged and how far one goes, removes nothing by a slip of the
 * finger, and writes to no directory that is something else.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/tool.h"

#define ARCHIVE scratch_path("archive")
#define COPY    scratch_path("copy")
#define BACKUP  scratch_path("backup")

enum { SESSIONS = 5 };

/* Of the environment, which is closed. */
static void copy_env(void)
{
        char command[2048];

        snprintf(command, sizeof(command), "rm -rf '%s' && cp -r '%s' '%s' && rm -f '%s'/xac.lock '%s'/xac.log.*", COPY,
                 TOOL_ENV, COPY, COPY, COPY);
        check_equal(system(command), 0);
}

/* A file for each session, with five commits: 2 to 6, 7 to 11, ... to 26. The copy and the backup are of commit 6. */
static void make_sessions(void)
{
        check_equal(mkdir(ARCHIVE, 0700), 0);
        for (unsigned i = 0; i < SESSIONS; i++) {
                tool_work(0, 5, TOOL_CLOSE);
                check_xac(0, "archive", TOOL_ENV, ARCHIVE);
                if (i > 0)
                        continue;
                copy_env();
                check_xac(0, "backup", TOOL_ENV, BACKUP);
        }
}

static int is_part(const struct dirent *entry)
{
        return strncmp(entry->d_name, "xac.archive.0", strlen("xac.archive.0")) == 0;
}

/* The name of the n-th file, in the order of the log; "": there are fewer. */
static const char *file_of(unsigned n)
{
        static char name[256];
        struct dirent **entries;
        int count = scandir(ARCHIVE, &entries, is_part, alphasort);

        check(count >= 0);
        snprintf(name, sizeof(name), "%s", n < (unsigned)count ? entries[n]->d_name : "");
        for (int i = 0; i < count; i++)
                free(entries[i]);
        free(entries);
        return name;
}

static unsigned count_files(void)
{
        unsigned count = 0;

        while (file_of(count)[0])
                count++;
        return count;
}

static const char *file_path(unsigned n)
{
        char name[300];

        snprintf(name, sizeof(name), "archive/%s", file_of(n));
        return scratch_path(name);
}

static void flip(unsigned n, off_t offset, int whence)
{
        int fd = open(file_path(n), O_RDWR | O_CLOEXEC);
        unsigned char byte;

        check(fd >= 0);
        off_t at = lseek(fd, offset, whence);
        check_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        check_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
}

static const char *archive_option(void)
{
        static char option[512];

        snprintf(option, sizeof(option), "--archive=%s", ARCHIVE);
        return option;
}

/* ---- Damage ---- */

static void a_check_reads_all(void)
{
        make_sessions();
        check_xac(0, "archive", "--check", ARCHIVE);
        check_said("checked       5 files");
        check_said("result        sound");
        check_xac(0, "archive", "--check", "--quiet", ARCHIVE);
        check_equal(tool.said_len, 0);
        flip(2, -1, SEEK_END);
        check_xac(0, "archive", "--list", ARCHIVE); /* headers alone */
        check_xac(1, "archive", "--check", ARCHIVE);
        check_said(file_of(2));
        check_said("its bytes are damaged");
        check_said("it had commits 12 to 16");
        check_said("result        DAMAGED, in 1 file");
        flip(4, -1, SEEK_END);
        check_xac(1, "archive", "--check", "--quiet", ARCHIVE);
        check_equal(tool_count_said("DAMAGED: "), 2);
        check_said("it had commits 22 to 26");
        check_not_said("GAP");
        check_not_said("result");
}

static void a_check_tells_of_gaps(void)
{
        make_sessions();
        flip(3, 100, SEEK_SET);
        check_equal(unlink(file_path(1)), 0);
        check_xac(1, "archive", "--check", ARCHIVE);
        check_said("its header is damaged");
        check_said("GAP: the log in between is missing: commits 7 to 11\n");
        check_said("GAP: the log in between is missing: commits 17 to 21\n");
        check_equal(tool_count_said("GAP"), 2);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("GAP: the log in between is missing: commits 7 to 11\n");
        flip(1, -1, SEEK_END); /* of 12 to 16, between the gaps */
        check_xac(1, "archive", "--check", ARCHIVE);
        check_equal(tool_count_said("GAP"), 2);
        check_said("it had commits 12 to 16");
}

/* Changes all words of all pages: records that go on in the next segment. */
static void make_large_commits(unsigned commits)
{
        xac_options options = { .log_bytes = 4 << 20, .archive = ARCHIVE };
        xac_env *env;
        uint64_t *words;

        check_equal(mkdir(ARCHIVE, 0700), 0);
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_ok(xac_close(env));
        tool_archive = strdup(ARCHIVE);
        tool_work(0, 1, TOOL_CLOSE);
        copy_env();
        words = tool_open(0, &env);
        for (unsigned i = 1; i <= commits; i++) {
                check_ok(xbegin(env, 0));
                for (unsigned word = 0; word < TOOL_PAGES * 512; word++)
                        words[word] += word * i;
                check_ok(xend(env));
        }
        check_ok(xac_close(env));
}

/* A commit whose record ends in the file that is damaged is lost, too. */
static void a_record_over_the_edge_is_lost_too(void)
{
        char option[64];
        unsigned first, last;

        make_large_commits(40);
        unsigned files = count_files();
        check(files > 5);
        check_xac(0, "archive", "--check", ARCHIVE);
        flip(files / 2, -1, SEEK_END);
        check_xac(1, "archive", "--check", ARCHIVE);
        check_equal(tool_count_said("DAMAGED: "), 1);
        const char *said = strstr(tool.said, "it had commits ");
        check(said && sscanf(said, "it had commits %u to %u", &first, &last) == 2);
        snprintf(option, sizeof(option), "--until=%u", first);
        check_xac(1, "archive", option, ARCHIVE, COPY);
        snprintf(option, sizeof(option), "--until=%u goes as far", first - 1);
        check_said(option);
        snprintf(option, sizeof(option), "--until=%u", first - 1);
        check_xac(0, "archive", option, ARCHIVE, COPY);
}

/* The newest commit that can be reached is named, and can be reached. */
static void check_reach(const char *until, const char *said)
{
        char option[64];

        check_xac(1, "restore", archive_option(), BACKUP, scratch_path("none"));
        check_said(said);
        check_xac(1, "restore", "--quiet", archive_option(), "--until=25", BACKUP, scratch_path("none"));
        check_said(said);
        check_xac(1, "archive", "--until=newest", ARCHIVE, COPY);
        check_said(said);
        snprintf(option, sizeof(option), "--until=%s", until);
        check_xac(0, "restore", archive_option(), option, BACKUP, scratch_path(until));
        check_said(until);
        check_xac(0, "check", scratch_path(until));
}

static void how_far_it_goes_is_told(void)
{
        make_sessions();
        flip(4, 100, SEEK_SET);
        check_reach("21", "; --until=21 goes as far as it goes");
        flip(3, -1, SEEK_END);
        check_reach("16", "; --until=16 goes as far as it goes");
        check_equal(unlink(file_path(2)), 0);
        check_reach("11", "; --until=11 goes as far as it goes");
        check_equal(unlink(file_path(1)), 0);
        check_reach("6", "no commit after 6, that of the backup, can be reached");
}

/* However quiet it is to be: commits may be missing. */
static void an_early_end_is_told(void)
{
        make_sessions();
        check_xac(0, "restore", archive_option(), "--until=@4102444800", BACKUP, scratch_path("loud"));
        check_said("if there were commits after 26");
        check_xac(0, "restore", "--quiet", archive_option(), "--until=@4102444800", BACKUP, scratch_path("quiet"));
        check_said("if there were commits after 26");
        check_equal(tool_count_said("\n"), 1);
        check_xac(0, "restore", "--quiet", archive_option(), "--until=26", BACKUP, scratch_path("exact"));
        check_equal(tool.said_len, 0);
        check_xac(0, "archive", "--quiet", "--until=@4102444800", ARCHIVE, COPY);
        check_said("if there were commits after 26");
        check_equal(tool_count_said("\n"), 1);
}

/* ---- What is old ---- */

static void nothing_is_removed_by_a_slip(void)
{
        make_sessions();
        check_xac(1, "archive", "--keep-since=27", ARCHIVE);
        check_said("has no commit 27, but commits 2 to 26");
        check_xac(1, "archive", "--keep-since=@4102444800", ARCHIVE);
        check_said("is yet to come");
        check_said("commits 2 to 26");
        check_xac(0, "archive", "--keep-since=17", "--dry-run", ARCHIVE);
        check_said("would remove  3 files: commits 2 to 16");
        check_equal(count_files(), SESSIONS);
        check_xac(2, "archive", "--list", "--dry-run", ARCHIVE);
        check_xac(0, "archive", "--keep-since=17", ARCHIVE);
        check_said("removed       3 files: commits 2 to 16");
        check_equal(count_files(), SESSIONS - 3);
        check_xac(0, "archive", "--quiet", "--keep-since=26", ARCHIVE);
        check_equal(tool.said_len, 0);
        check_equal(count_files(), 1);
}

static void dates_are_those_of_the_calendar(void)
{
        static const char *const no_dates[] = { "2026-11-31",          "2026-02-29",           "2026-02-30 10:00",
                                                "2026-11-26 21:24:61", "2026-11-26T24:00:00Z", "2026-04-31T10:00Z" };
        char option[64];

        make_sessions();
        for (size_t i = 0; i < sizeof(no_dates) / sizeof(*no_dates); i++) {
                snprintf(option, sizeof(option), "--keep-since=%s", no_dates[i]);
                check_xac(2, "archive", "--dry-run", option, ARCHIVE);
                check_said("is neither the number of a commit nor a time");
                snprintf(option, sizeof(option), "--until=%s", no_dates[i]);
                check_xac(2, "restore", archive_option(), option, BACKUP, COPY);
                check_said("is neither the number of a commit nor a time");
        }
        check_xac(0, "archive", "--dry-run", "--keep-since=2024-02-29 23:59:59.5", ARCHIVE);
        check_xac(0, "archive", "--dry-run", "--keep-since=2024-02-29T23:59Z", ARCHIVE);
}

/* ---- Keeping ---- */

static void it_says_when_there_is_nothing_to_take(void)
{
        xac_env *env;

        make_sessions();
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_said("archived      nothing, as there was nothing new to take");
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", "--quiet", TOOL_ENV, ARCHIVE);
        check_equal(tool.said_len, 0);
        check_equal(count_files(), SESSIONS + 1);
        check_xac(0, "restore", BACKUP, scratch_path("restored"));
        check_equal(mkdir(scratch_path("other"), 0700), 0);
        check_xac(1, "archive", "--quiet", scratch_path("restored"), scratch_path("other"));
        check_said("was not open since it was made or restored");
        check_ok(xac_open(scratch_path("restored"), 0, NULL, &env));
        check_ok(xac_close(env));
        check_xac(0, "archive", scratch_path("restored"), scratch_path("other"));
        check_said("no log to take yet");
        check_equal(rmdir(scratch_path("other")), 0); /* still empty */
}

static void an_archive_has_a_directory_of_its_own(void)
{
        make_sessions();
        check_xac(1, "archive", TOOL_ENV, TOOL_ENV);
        check_said("has a file xac.manifest");
        check_xac(1, "archive", TOOL_ENV, BACKUP);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "backup", "--since", BACKUP, TOOL_ENV, scratch_path("later"));
        check_xac(1, "archive", TOOL_ENV, scratch_path("later"));
        check_said("has a file xac.backup");
}

static void usage(void)
{
        check_xac(0, "restore", "--help");
        check_said("--archive=ARCHIVE [--until=MOMENT] [--quiet] BACKUP");
        check_said("goes neither with --check nor with --json");
        check_xac(0, "archive", "--help");
        check_said("headers of the files only");
        check_xac(2, "archive", "--check", "--list", "a");
        check_xac(2, "archive", "--check", "a", "b");
        check_xac(2, "archive", "--quiet", "--list", "a");
        check_xac(2, "archive", "--dry-run", "a", "b");
        check_xac(1, "archive", "--check", scratch_path("nowhere"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_check_reads_all),
                isolated_test(a_check_tells_of_gaps),
                isolated_test(a_record_over_the_edge_is_lost_too),
                isolated_test(how_far_it_goes_is_told),
                isolated_test(an_early_end_is_told),
                isolated_test(nothing_is_removed_by_a_slip),
                isolated_test(dates_are_those_of_the_calendar),
                isolated_test(it_says_when_there_is_nothing_to_take),
                isolated_test(an_archive_has_a_directory_of_its_own),
                isolated_test(usage),
        };

        return cmocka_run_group_tests_name("tools/archive: care", tests, NULL, NULL);
}
