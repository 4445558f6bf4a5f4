/* SPDX-License-Identifier: MIT */

/*
 * Damage in the double-write area of an environment that needs recovery: all subcommands say the same of it. Where the
 * page is at home nothing is lost (P13); where a backup has it as it was, repair takes it; else it is damage, for which
 * no log has to be given up.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/crew.h"
#include "tests/tools/tool.h"

enum { AREA_HEAD = 8192, PAGE = 4096, NTH = 3 };

static void commit_and_leave(int unused, void *unused_arg)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused, (void)unused_arg;
        for (unsigned i = 0; i < TOOL_PAGES; i++)
                tool_commit(env, words, i, 0);
        check_ok(xac_checkpoint(env));
        crew_exit(0);
}

static const char *area(void)
{
        return scratch_file_size(tool_path("xac.area.0")) > 0 ? "xac.area.0" : "xac.area.1";
}

/* The machine goes down after a checkpoint, of which all is home: its area has all pages. A copy is the backup, as of
 * then. */
static void go_down(void)
{
        char command[1024];

        tool_work(0, 5, TOOL_CLOSE);
        pid_t pid = crew_fork(commit_and_leave, 0, NULL);
        check_equal(crew_status(pid), 0);
        tool_power_cut();
        snprintf(command, sizeof(command), "cp -a '%s' '%s'", TOOL_ENV, scratch_path("backup"));
        scratch_shell("%s", command);
        check_xac(0, "recover", scratch_path("backup"));
        tool_damage(area(), AREA_HEAD + NTH * PAGE + 77, 1);
}

/* As if the write home had not arrived: the page is torn. */
static void tear_home(void)
{
        tool_damage(TOOL_FILE, NTH * PAGE + 2048, 100);
}

static const char *from_backup(void)
{
        static char option[512];

        snprintf(option, sizeof(option), "--from=%s", scratch_path("backup"));
        return option;
}

static void a_page_that_is_home_is_not_lost(void)
{
        go_down();
        check_xac(0, "check", TOOL_ENV);
        check_said("1 of its pages are damaged, the first at offset 20480, and stand at home as they were");
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("left          0");
        check_xac(0, "recover", TOOL_ENV);
        check_equal(tool_sum(), 5 + TOOL_PAGES);
        check_xac(0, "check", TOOL_ENV);
        check_not_said("damaged");
}

static void a_program_opens_it(void)
{
        go_down();
        check_equal(tool_sum(), 5 + TOOL_PAGES);
        check_xac(0, "scrub", TOOL_ENV);
        check_xac(0, "check", TOOL_ENV);
}

static void check_refused(void)
{
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: xac.area.");
        check_xac(1, "recover", TOOL_ENV);
        check_said("repair --from=BACKUP");
        check_said("--give-up-damaged gives up log, and is of no use here");
        check_xac(1, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("is of no use here");
        check_xac(1, "backup", TOOL_ENV, scratch_path("other"));
        check_xac(1, "scrub", TOOL_ENV);
}

static void a_backup_has_the_page(void)
{
        go_down();
        tear_home();
        check_refused();
        check_xac(0, "repair", "--dry-run", from_backup(), TOOL_ENV);
        check_said("nothing was changed");
        check_refused();
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said(
                "accounts: offset 12288: the page, which the double-write area should have, was taken from the backup");
        check_said("repaired      1 page, 0 checksums");
        check_xac(0, "check", TOOL_ENV);
        check_equal(tool_sum(), 5 + TOOL_PAGES);
        check_xac(0, "check", TOOL_ENV);
}

/* It is of another time, or the file has been cut: no page of it may stand for what is lost. */
static void no_backup_has_the_page(void)
{
        go_down();
        tear_home();
        scratch_shell("printf x | dd of='%s/" TOOL_FILE "' bs=1 seek=%d conv=notrunc status=none",
                      scratch_path("backup"), NTH * PAGE + 100);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("neither at home nor in the backup as it was: left as it is");
        check_said("left          1");
        check_refused();
}

/* It gets its length back first; all other pages that were cut off are in the area. */
static void a_file_that_was_cut_is_not_patched(void)
{
        go_down();
        check_ok(truncate(tool_path(TOOL_FILE), NTH * PAGE));
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("left          1");
        check_xac(1, "check", TOOL_ENV);
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("was taken from the backup");
        check_equal(tool_sum(), 5 + TOOL_PAGES);
        check_xac(0, "check", TOOL_ENV);
}

/* The rest of the page is no zeros. */
static void nor_is_one_that_was_cut_within_the_page_left_so(void)
{
        go_down();
        check_ok(truncate(tool_path(TOOL_FILE), NTH * PAGE + 10));
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("was taken from the backup");
        check_said("left          0");
        check_equal(tool_sum(), 5 + TOOL_PAGES);
        check_xac(0, "check", TOOL_ENV);
}

static void a_damaged_table_tells_nothing(void)
{
        go_down();
        tool_damage(area(), 4096 + 5, 1);
        check_refused();
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("nobody can tell which pages it should have, and none was looked at");
        check_said("left          1");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_page_that_is_home_is_not_lost),
                isolated_test(a_program_opens_it),
                isolated_test(a_backup_has_the_page),
                isolated_test(no_backup_has_the_page),
                isolated_test(a_file_that_was_cut_is_not_patched),
                isolated_test(nor_is_one_that_was_cut_within_the_page_left_so),
                isolated_test(a_damaged_table_tells_nothing),
        };

        return cmocka_run_group_tests_name("tools/damaged area", tests, NULL, NULL);
}
