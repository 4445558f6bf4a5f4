/* SPDX-License-Identifier: MIT */

/*
 * xac recover --give-up-damaged: the commits before damage of the log come back, others follow, and nothing takes a
 * backup that has what was lost for one that they follow.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/tool.h"

#define ARCHIVE scratch_path("archive")
#define BACKUP  scratch_path("backup")
#define COPY    scratch_path("copy")

enum { GROUP = 4096, GROUPS = (1 << 20) / GROUP /* in a segment */ };

static void crash_after(unsigned commits)
{
        tool_work(0, commits, TOOL_KILL);
        tool_power_cut();
}

/* The group of the nth commit (from 0) of a log that begins in the first segment: one group each. */
static void damage_commit(unsigned n)
{
        tool_damage("xac.log.1", 4096 + n * GROUP + 60, 1);
}

/* Others are logged, a crash comes, and nothing of what had been given up is there. */
static void the_log_goes_on_from(uint64_t sum)
{
        check_xac(0, "check", TOOL_ENV);
        check_said("result        sound");
        check_equal(tool_sum(), sum);
        crash_after(GROUPS + 3);
        check_xac(0, "check", TOOL_ENV);
        check_xac(0, "recover", TOOL_ENV);
        check_equal(tool_sum(), sum + GROUPS + 3);
        tool_work(0, 5, TOOL_CLOSE);
        check_equal(tool_sum(), sum + GROUPS + 8);
        check_xac(0, "scrub", TOOL_ENV);
}

static void commits_before_the_damage_come_back(void)
{
        crash_after(40);
        damage_commit(7);
        check_xac(1, "recover", TOOL_ENV);
        check_said("--give-up-damaged");
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("GIVEN UP      xac.log.1: offset 32768");
        check_said("commits after 8 are lost");
        check_said("sequence      8,");
        the_log_goes_on_from(7);
}

static void missing_segments_are_given_up(void)
{
        crash_after(2 * GROUPS + 40);
        check_equal(unlink(tool_path("xac.log.2")), 0);
        check_xac(1, "recover", TOOL_ENV);
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("a segment is missing");
        the_log_goes_on_from(GROUPS);
}

static void so_is_all_of_the_log(void)
{
        crash_after(GROUPS + 40);
        check_equal(unlink(tool_path("xac.log.1")), 0);
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_said("commits after 1 are lost");
        the_log_goes_on_from(0);
}

static void a_sound_log_is_given_up_nowhere(void)
{
        crash_after(40);
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_not_said("GIVEN UP");
        check_said("replayed      40 commits");
        check_equal(tool_sum(), 40);
}

static void what_is_in_use_is_left_alone(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 0, 0);
        check_xac(3, "recover", "--give-up-damaged", TOOL_ENV);
        check_ok(xac_close(env));
        tool_work(XAC_NOSYNC, 20, TOOL_KILL);
        check_xac(3, "recover", "--give-up-damaged", TOOL_ENV); /* they are in shared memory */
        check_equal(tool_sum(), 21);
}

/* ---- Backups and archives ---- */

/* Commits 2 to 6 are closed, and in the backup and the archive; 7 to 26 were lost behind 11, but for a copy. */
static void lose_some(void)
{
        check_equal(mkdir(ARCHIVE, 0700), 0);
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(0, "backup", TOOL_ENV, BACKUP);
        crash_after(20);
        scratch_shell("cp -r '%s' '%s'", TOOL_ENV, COPY);
        damage_commit(8 + 5); /* groups begin where the session before ended, at the next one */
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
}

static void a_backup_of_what_was_lost_is_taken_nowhere(void)
{
        lose_some();
        check_xac(0, "backup", COPY, scratch_path("late"));
        check_said("26");
        tool_work(0, 40, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(1, "restore", "--archive", ARCHIVE, scratch_path("late"), scratch_path("restored"));
        check_said("damage of the log that was given up");
        check_not_said("restored      ");
}

static void an_archive_has_a_gap_there(void)
{
        uint64_t kept;

        lose_some();
        kept = tool_sum();
        check(kept > 5 && kept < 25);
        tool_work(0, 40, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("GAP: ");
        check_said("a damaged log was given up in part");
        check_xac(1, "restore", "--archive", ARCHIVE, BACKUP, scratch_path("restored"));
        check_xac(0, "restore", "--until=9", "--archive", ARCHIVE, BACKUP, scratch_path("restored"));
        check_equal(tool_sum_of_file(scratch_path("restored")), 8);
        /* And from there on. */
        check_xac(0, "backup", TOOL_ENV, scratch_path("new"));
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        scratch_shell("rm -r '%s'", scratch_path("restored"));
        check_xac(0, "restore", "--archive", ARCHIVE, scratch_path("new"), scratch_path("restored"));
        check_equal(tool_sum_of_file(scratch_path("restored")), kept + 45);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(commits_before_the_damage_come_back),
                isolated_test(missing_segments_are_given_up),
                isolated_test(so_is_all_of_the_log),
                isolated_test(a_sound_log_is_given_up_nowhere),
                isolated_test(what_is_in_use_is_left_alone),
                isolated_test(a_backup_of_what_was_lost_is_taken_nowhere),
                isolated_test(an_archive_has_a_gap_there),
        };
        return cmocka_run_group_tests_name("xac recover --give-up-damaged", tests, NULL, NULL);
}
