/* SPDX-License-Identifier: MIT */

/*
 * Damage in the double-write buffer of an environment that needs recovery: all subcommands say the same of it. Where
 * the page is at home nothing is lost (CP13); where a backup has it as it was, repair takes it; else it is given up by
 * name, if that is wanted (CP14), and stays damaged for everybody until it is repaired, or taken as it is.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/crew.h"
#include "tests/tools/tool.h"

enum { BUFFER_HEAD = 8192, PAGE = 4096, NTH = 3 };

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

static const char *buffer_name(void)
{
        return scratch_file_size(tool_path("xac.area.0")) > 0 ? "xac.area.0" : "xac.area.1";
}

/* The machine goes down after a checkpoint, of which all is home: its buffer has all pages. A copy is the backup, as of
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
        tool_damage(buffer_name(), BUFFER_HEAD + NTH * PAGE + 77, 1);
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
        check_said("double-write buffer");
        check_said("--give-up-damaged");
        check_xac(1, "recover", TOOL_ENV);
        check_said("repair --from=BACKUP");
        check_said("'xac recover --give-up-damaged' goes on without these pages, and names them");
        check_xac(1, "backup", TOOL_ENV, scratch_path("other"));
        check_xac(1, "scrub", TOOL_ENV);
        check_said("xac check");
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
        check_said("accounts: offset 12288: the page, which the double-write buffer should have, was taken from the "
                   "backup");
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

/* It gets its length back first; all other pages that were cut off are in the buffer. */
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
        uint64_t before;

        go_down();
        tool_damage(buffer_name(), 4096 + 5, 1);
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: xac.area.");
        check_xac(1, "recover", TOOL_ENV);
        check_said("restore a backup");
        check_said("--give-up-damaged is of no use here");
        check_not_said("repair --from");
        before = tool_fingerprint(TOOL_ENV);
        check_xac(1, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("restore a backup");
        check_said("--give-up-damaged is of no use here");
        check_equal(tool_fingerprint(TOOL_ENV), before);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("nobody can tell which pages it should have, and none was looked at");
        check_said("left          1");
        check_xac(1, "backup", TOOL_ENV, scratch_path("other"));
        check_xac(1, "scrub", TOOL_ENV);
}

/* ---- What nobody has is given up ---- */

#define GONE "accounts: offset 12288: the page is lost"

/* And nothing takes the page for sound. */
static void check_damaged(void)
{
        check_xac(0, "recover", TOOL_ENV);
        check_said("Nothing to do");
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: accounts: offset 12288: the page is not what its checksum says");
        check_said("DAMAGED, in 1 place");
        check_xac(1, "scrub", TOOL_ENV);
        check_said("DAMAGED: accounts: offset 12288: the page is not what its checksum says");
        check_xac(1, "scrub", "--sum", TOOL_ENV);
        check_xac(1, "backup", TOOL_ENV, scratch_path("of-damage"));
}

static void no_program_goes_on_from_it(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, NTH + 1, 0);
        check_ok(xbegin(env, 0));
        words[NTH * PAGE / sizeof(*words) + 5]++;
        check_equal(xend(env), XAC_CORRUPT);
        check_ok(xac_close(env));
}

static void a_page_is_given_up_by_name(void)
{
        go_down();
        tear_home();
        check_refused();
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("LOST          " GONE "; 'xac repair' can take it from a backup");
        check_said("GIVEN UP      1 page");
        check_damaged();
        no_program_goes_on_from_it();
        check_damaged();
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 12288: the page is taken from the backup");
        check_xac(0, "check", TOOL_ENV);
        check_equal(tool_sum(), 5 + TOOL_PAGES + 1);
}

/* Home and a backup have the same page of before, and the backup is sound. */
static void a_page_of_before_is_not_the_page(void)
{
        static char from_early[512];

        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("early"));
        snprintf(from_early, sizeof(from_early), "--from=%s", scratch_path("early"));
        go_down();
        scratch_shell("dd if='%s/" TOOL_FILE "' of='%s' bs=4096 skip=3 seek=3 count=1 conv=notrunc status=none",
                      scratch_path("early"), tool_path(TOOL_FILE));
        check_refused();
        check_xac(1, "repair", from_early, TOOL_ENV);
        check_refused();
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("LOST          " GONE);
        check_xac(1, "repair", from_early, TOOL_ENV);
        check_damaged();
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_xac(0, "check", TOOL_ENV);
        check_equal(tool_sum(), 10 + TOOL_PAGES);
}

static void to_take_it_as_it_is_touch_the_file(void)
{
        go_down();
        tear_home();
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        scratch_shell("touch '%s'", tool_path(TOOL_FILE));
        tool_work(0, 1, TOOL_CLOSE);
        check_xac(0, "check", TOOL_ENV);
        check_not_said("note");
}

/* ---- The log goes on from it ---- */

static unsigned more_commits[4];

static void commit_checkpoint_and_commit(int count, void *unused_arg)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused_arg;
        for (unsigned i = 0; i < TOOL_PAGES; i++)
                tool_commit(env, words, i, 0);
        check_ok(xac_checkpoint(env));
        scratch_shell("cp -a '%s' '%s'", TOOL_ENV, scratch_path("as-of-checkpoint"));
        for (int i = 0; i < count; i++)
                tool_commit(env, words, more_commits[i], 0);
        crew_exit(0);
}

static void go_down_later(void)
{
        tool_work(0, 5, TOOL_CLOSE);
        check_equal(crew_status(crew_fork(commit_checkpoint_and_commit, 2, NULL)), 0);
        tool_power_cut();
        scratch_shell("cp -a '%s' '%s'", TOOL_ENV, scratch_path("backup"));
        check_xac(0, "recover", scratch_path("backup"));
        check_xac(0, "recover", scratch_path("as-of-checkpoint"));
        tool_damage(buffer_name(), BUFFER_HEAD + NTH * PAGE + 77, 1);
        tear_home();
}

/* What a backup has as of the checkpoint lacks the commits since. */
static void what_the_log_goes_on_from_is_in_no_backup(void)
{
        char from_checkpoint[512];

        more_commits[0] = NTH, more_commits[1] = NTH + 4;
        go_down_later();
        snprintf(from_checkpoint, sizeof(from_checkpoint), "--from=%s", scratch_path("as-of-checkpoint"));
        check_refused();
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("LOST          " GONE "; commits in the log go on from it, so that no backup has it");
        check_damaged();
        check_xac(1, "repair", from_checkpoint, TOOL_ENV);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_damaged();
}

/* It goes home before, and the log on from it. */
static void a_repair_before_loses_nothing(void)
{
        char from_checkpoint[512];

        more_commits[0] = NTH, more_commits[1] = NTH + 4;
        go_down_later();
        snprintf(from_checkpoint, sizeof(from_checkpoint), "--from=%s", scratch_path("as-of-checkpoint"));
        check_xac(0, "repair", from_checkpoint, TOOL_ENV);
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_not_said("LOST");
        check_not_said("GIVEN UP");
        check_xac(0, "check", TOOL_ENV);
        check_equal(tool_sum(), 5 + TOOL_PAGES + 2);
}

/* ---- Rot at home, from which the log goes on ---- */

static void so_is_a_page_that_rots_at_home(void)
{
        more_commits[0] = NTH, more_commits[1] = NTH + 4;
        go_down_later();
        tool_damage(buffer_name(), BUFFER_HEAD + NTH * PAGE + 77, 1); /* put right again */
        check_xac(0, "recover", TOOL_ENV);
        tool_work(0, NTH + 1, TOOL_KILL);
        tool_power_cut();
        tool_damage(TOOL_FILE, NTH * PAGE + 2048, 100);
        check_xac(1, "recover", TOOL_ENV);
        check_said("the page is not what its checksum says");
        check_said("--give-up-damaged");
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("LOST          " GONE);
        check_damaged();
}

/* ---- Histories ---- */

#define ARCHIVE scratch_path("archive")

static void nothing_of_before_is_continued(void)
{
        check_equal(mkdir(ARCHIVE, 0700), 0);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("base"));
        go_down();
        tear_home();
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("GAP: ");
        tool_work(0, 3, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("GAP: ");
        check_xac(1, "restore", "--archive", ARCHIVE, scratch_path("base"), scratch_path("restored"));
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
                isolated_test(a_page_is_given_up_by_name),
                isolated_test(a_page_of_before_is_not_the_page),
                isolated_test(to_take_it_as_it_is_touch_the_file),
                isolated_test(what_the_log_goes_on_from_is_in_no_backup),
                isolated_test(a_repair_before_loses_nothing),
                isolated_test(so_is_a_page_that_rots_at_home),
                isolated_test(nothing_of_before_is_continued),
        };

        return cmocka_run_group_tests_name("tools/damaged double-write buffer", tests, NULL, NULL);
}
