/* SPDX-License-Identifier: MIT */

/*
 * xac backup and xac restore, as one uses them.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/leeway.h"
#include "tests/tools/json_check.h"
#include "tests/tools/tool.h"

static bool is_there(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

static void check_json(void)
{
        check(tool.said[0] == '{' && json_check(tool.said, tool.said_len));
}

/* Adds up the words of the environment `name`, which takes the place of the one that is there. */
static uint64_t sum_of(const char *name)
{
        uint64_t sum;

        check_equal(rename(TOOL_ENV, scratch_path("aside")), 0);
        check_equal(rename(scratch_path(name), TOOL_ENV), 0);
        sum = tool_sum();
        check_equal(rename(TOOL_ENV, scratch_path(name)), 0);
        check_equal(rename(scratch_path("aside"), TOOL_ENV), 0);
        return sum;
}

static void what_nobody_has_open_is_copied(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("copy"));
        check_said("sequence      21\n");
        check_said("copied        16 pages of 16 pages, in 1 file: 64 KiB (65536 bytes)\n");
        check_equal(sum_of("copy"), 20);
        check_xac(0, "check", scratch_path("copy"));
        check_said("result        sound\n");
        check_said("checksums     16 pages compared\n");
        check_not_said("note: ");
}

static void what_is_in_use_is_copied(void)
{
        xac_env *env;
        uint64_t *words;

        for (int is_volatile = 0; is_volatile < 2; is_volatile++) {
                const char *copy = is_volatile ? "copy-volatile" : "copy";

                words = tool_open(XAC_CREATE | (is_volatile ? XAC_VOLATILE : 0), &env);
                tool_commit(env, words, 3, 0);
                check_xac(0, "backup", TOOL_ENV, scratch_path(copy));
                tool_commit(env, words, 3, 0);
                check_ok(xac_close(env));
                check_equal(sum_of(copy), 1 + 2 * is_volatile);
        }
}

/* After a crash it is recovered, as by any program. */
static void what_lost_its_power_is_copied(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "backup", TOOL_ENV, scratch_path("copy"));
        check_equal(sum_of("copy"), 20);
}

static void a_chain_is_restored(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("sunday"));
        tool_work(0, 3, TOOL_CLOSE);
        check_xac(0, "backup", "--since", scratch_path("sunday"), TOOL_ENV, scratch_path("monday"));
        check_said("since         21\n");
        check_said("copied        3 pages of 16 pages");
        tool_work(0, 1, TOOL_CLOSE);
        check_xac(0, "backup", "--since", scratch_path("monday/xac.backup"), TOOL_ENV, scratch_path("tuesday"));
        check_xac(0, "restore", "--check", scratch_path("sunday"), scratch_path("monday"), scratch_path("tuesday"));
        check_said("sound         16 pages, in 1 file");
        check_xac(0, "restore", scratch_path("sunday"), scratch_path("monday"), scratch_path("tuesday"),
                  scratch_path("restored"));
        check_said("restored      16 pages, in 1 file");
        check_equal(sum_of("restored"), 24);
        check_xac(1, "restore", scratch_path("sunday"), scratch_path("tuesday"), scratch_path("wrong"));
        check_said("does not continue");
        check(!is_there(scratch_path("wrong")));
        check_xac(1, "check", scratch_path("monday"));
        check_said("is a backup that goes on from another");
}

static void what_a_backup_is_can_be_asked(void)
{
        char id[16] = "", expected[80];

        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "stat", TOOL_ENV);
        check_not_said("backup");
        check_xac(0, "backup", TOOL_ENV, scratch_path("sunday"));
        tool_work(0, 3, TOOL_CLOSE);
        check_xac(0, "backup", "--since", scratch_path("sunday"), TOOL_ENV, scratch_path("monday"));
        check_xac(0, "stat", scratch_path("sunday"));
        check_said("at rest, clean");
        check_said(", of commit 21, made 20");
        check_said("full: opens as it is");
        check_not_said("no backup any more");
        check_equal(sscanf(strstr(tool.said, "backup        "), "backup %8[0-9a-f]", id), 1);
        check_xac(0, "stat", scratch_path("monday"));
        check_said(", of commit 24, made 20");
        snprintf(expected, sizeof(expected), "goes on from backup %s, of commit 21: 3 pages that changed since", id);
        check_said(expected);
        check_equal(rename(TOOL_ENV, scratch_path("aside")), 0);
        check_equal(rename(scratch_path("sunday"), TOOL_ENV), 0);
        tool_work(0, 1, TOOL_CLOSE);
        check_xac(0, "stat", TOOL_ENV);
        check_said("it is no backup any more");
        check_equal(truncate(scratch_path("monday/xac.backup"), 100), 0);
        check_xac(1, "stat", scratch_path("monday"));
        check_said("is damaged");
}

/* Whoever cuts a file, in use or after a crash: a backup of what is left would look sound. */
static void a_file_that_was_cut_is_no_backup(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        for (unsigned i = 0; i < TOOL_PAGES; i++)
                tool_commit(env, words, i, 0);
        check_ok(xac_checkpoint(env));
        check_equal(truncate(tool_path(TOOL_FILE), 0), 0);
        check_xac(1, "backup", TOOL_ENV, scratch_path("backup"));
        check_said("was cut by somebody else");
        (void)xac_close(env);
        for (int whole = 0; whole < 2; whole++) {
                scratch_clear();
                scratch_shared_memory_left(1);
                tool_work(0, TOOL_PAGES, TOOL_CLOSE);
                tool_work(0, 1, TOOL_KILL);
                tool_power_cut();
                check_equal(truncate(tool_path(TOOL_FILE), whole ? 4096 : 32768), 0);
                check_xac(1, "backup", TOOL_ENV, scratch_path("backup"));
                check_said("damaged, or not as it was closed");
                check_xac(1, "scrub", TOOL_ENV);
                check_xac(1, "recover", TOOL_ENV);
                check_said("it was cut");
                check_xac(1, "check", TOOL_ENV);
                check_said(whole ? "DAMAGED: accounts has 4096 bytes, and had 65536: it was cut"
                                 : "DAMAGED: accounts has 32768 bytes, and had 65536: it was cut");
        }
}

/* Its numbers come again, with a log, for other commits. */
static void what_has_no_log_goes_into_no_archive(void)
{
        xac_env *env;
        uint64_t *words;

        check_equal(mkdir(scratch_path("archive"), 0700), 0);
        tool_archive = scratch_path("archive");
        tool_work(0, 10, TOOL_CLOSE);
        tool_archive = NULL;
        words = tool_open(XAC_VOLATILE, &env);
        tool_commit(env, words, 3, 0);
        check_xac(0, "backup", TOOL_ENV, scratch_path("copy"));
        check_ok(xac_close(env));
        tool_archive = scratch_path("archive");
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(1, "restore", "--archive", tool_archive, scratch_path("copy"), scratch_path("restored"));
        check_said("open without a log (XAC_VOLATILE)");
        check(!is_there(scratch_path("restored")));
        tool_archive = NULL;
        check_xac(0, "restore", scratch_path("copy"), scratch_path("restored"));
        check_equal(sum_of("restored"), 11);
}

static void damage_is_told(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("copy"));
        check_equal(rename(TOOL_ENV, scratch_path("aside")), 0);
        check_equal(rename(scratch_path("copy"), TOOL_ENV), 0);
        tool_damage(TOOL_FILE, 5 * 4096 + 7, 1);
        check_xac(1, "restore", TOOL_ENV, scratch_path("restored"));
        check_said("accounts, offset 20480: the page is not the one that was backed up");
        check(!is_there(scratch_path("restored")));
        check_xac(1, "restore", "--check", TOOL_ENV);
}

static void a_stream_is_unpacked_by_tar(void)
{
        const char *builddir = getenv("builddir");
        char command[9000];

        tool_work(0, 20, TOOL_CLOSE);
        check_equal(mkdir(scratch_path("unpacked"), 0700), 0);
        snprintf(command, sizeof(command), "%s/tools/xac/xac backup --json '%s' - 2>'%s' | tar -x -C '%s'",
                 builddir ? builddir : ".", TOOL_ENV, scratch_path("said"), scratch_path("unpacked"));
        check_equal(system(command), 0);
        check_equal(sum_of("unpacked"), 20);
        check(scratch_file_size(scratch_path("said")) > 100);
        check_xac(0, "restore", "--check", scratch_path("unpacked"));
}

static void who_reads_the_stream_may_go(void)
{
        const char *builddir = getenv("builddir");
        char command[9000];

        tool_work(0, 20, TOOL_CLOSE);
        snprintf(command, sizeof(command), "%s/tools/xac/xac backup --quiet '%s' - | head -c 100 >'%s'",
                 builddir ? builddir : ".", TOOL_ENV, scratch_path("begin"));
        check_equal(system(command), 0);
        check_equal(scratch_file_size(scratch_path("begin")), 100);
        check_xac(0, "recover", TOOL_ENV);
        check_said("Nothing to do");
}

static void results_are_json_on_request(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", "--json", "--rate", "100M", TOOL_ENV, scratch_path("copy"));
        check_said("\"sequence\": 21,");
        check_said("\"since\": null,");
        check_said("\"pages_copied\": 16,");
        check_json();
        check_xac(0, "restore", "--json", scratch_path("copy"), scratch_path("restored"));
        check_said("\"bytes\": 65536,");
        check_json();
}

static void it_is_quiet_on_request(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", "--quiet", TOOL_ENV, scratch_path("copy"));
        check_equal(tool.said_len, 0);
        check_xac(0, "restore", "--quiet", scratch_path("copy"), scratch_path("restored"));
        check_equal(tool.said_len, 0);
        check_xac(0, "scrub", "--quiet", TOOL_ENV);
        check_equal(tool.said_len, 0);
        check_xac(1, "backup", "--quiet", TOOL_ENV, scratch_path("copy"));
        check_said("is there already");
}

/* The backup and the environment: no file is left of the one, nothing to recover of the other. */
static void check_interrupted(int signal_no)
{
        pid_t pid = tool_start(tool_args("backup", "--rate", "100", TOOL_ENV, scratch_path("copy")), STDERR_FILENO);
        int status;

        for (struct leeway left = leeway_of(5000); !is_there(scratch_path(".copy.partial/" TOOL_FILE));)
                check(leeway_pause(&left));
        const uint64_t begun_ns = crew_clock_ns();
        check_equal(kill(pid, signal_no), 0);
        status = crew_status(pid);
        check((crew_clock_ns() - begun_ns) / 1000000 < leeway_ms(10000)); /* at that rate it would be eleven minutes */
        check(WIFSIGNALED(status) && WTERMSIG(status) == signal_no);
        check(!is_there(scratch_path("copy")));
        check(!is_there(scratch_path(".copy.partial")));
        check_xac(0, "recover", TOOL_ENV);
        check_said("Nothing to do");
}

static void what_is_interrupted_leaves_nothing(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_interrupted(SIGINT);
        check_interrupted(SIGTERM);
        check_xac(0, "backup", TOOL_ENV, scratch_path("copy"));
}

static void it_says_why_not(void)
{
        tool_work(0, 1, TOOL_CLOSE);
        check_xac(1, "backup", scratch_path("nowhere"), scratch_path("copy"));
        check_equal(mkdir(scratch_path("bare"), 0700), 0);
        check_xac(1, "backup", scratch_path("bare"), scratch_path("copy"));
        check_said("is no environment: it has no xac.manifest");
        check_xac(1, "backup", TOOL_ENV, TOOL_ENV);
        check_said("is there already, and not empty");
        check_xac(1, "backup", "--since", scratch_path("bare"), TOOL_ENV, scratch_path("copy"));
        check_said("is no backup");
        check_xac(1, "restore", scratch_path("bare"), scratch_path("copy"));
        check_said("is no backup");
        check(!is_there(scratch_path("copy")));
}

static void root_is_careful_with_what_is_others(void)
{
        if (geteuid() != 0)
                isolate_skip("only for root");
        tool_work(0, 1, TOOL_CLOSE);
        check_equal(chown(TOOL_ENV, 12345, 12345), 0);
        check_xac(0, "backup", TOOL_ENV, scratch_path("read")); /* nothing is made in what is at rest */
        check_xac(0, "scrub", TOOL_ENV);
        check_xac(1, "scrub", "--sum", TOOL_ENV);
        check_said("belongs to user 12345");
        tool_work(0, 1, TOOL_KILL);
        check_xac(1, "backup", TOOL_ENV, scratch_path("copy"));
        check_said("belongs to user 12345");
        check_xac(1, "scrub", TOOL_ENV);
        check_said("belongs to user 12345");
        check_xac(0, "backup", "--force", TOOL_ENV, scratch_path("copy"));
        check_xac(0, "scrub", "--force", TOOL_ENV);
}

static void the_command_line_is_checked(void)
{
        check_xac(2, "backup", TOOL_ENV);
        check_xac(2, "backup", TOOL_ENV, "a", "b");
        check_xac(2, "backup", "--rate", "fast", TOOL_ENV, "a");
        check_said("--rate takes a number of bytes");
        check_xac(2, "backup", "--rate", "0", TOOL_ENV, "a");
        check_xac(2, "backup", "--rate", "1Q", TOOL_ENV, "a");
        check_xac(2, "backup", "--rate", "99999999999G", TOOL_ENV, "a");
        check_xac(2, "restore", "a");
        check_xac(2, "restore", "--check");
        check_xac(2, "restore", "--since", "a", "b");
        check_xac(0, "backup", "--help");
        check_said("--since BACKUP");
        check_xac(0, "help", "restore");
        check_said("--check");
        check_equal(tool_xac_on_terminal(tool_args("backup", TOOL_ENV, "-")), 2);
        check_said("nothing for a terminal");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_nobody_has_open_is_copied),       isolated_test(what_is_in_use_is_copied),
                isolated_test(what_lost_its_power_is_copied),        isolated_test(a_chain_is_restored),
                isolated_test(what_a_backup_is_can_be_asked),        isolated_test(a_file_that_was_cut_is_no_backup),
                isolated_test(what_has_no_log_goes_into_no_archive), isolated_test(damage_is_told),
                isolated_test(a_stream_is_unpacked_by_tar),          isolated_test(who_reads_the_stream_may_go),
                isolated_test(results_are_json_on_request),          isolated_test(it_is_quiet_on_request),
                isolated_test(what_is_interrupted_leaves_nothing),   isolated_test(it_says_why_not),
                isolated_test(root_is_careful_with_what_is_others),  isolated_test(the_command_line_is_checked),
        };
        return cmocka_run_group_tests_name("xac backup, xac restore", tests, NULL, NULL);
}
