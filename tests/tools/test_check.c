/* SPDX-License-Identifier: MIT */

/*
 * xac check: sound is sound, also after a crash; each damage is told with its file and offset; and whatever
 * it finds, it changes nothing.
 */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/tool.h"

enum { SLOT_BYTES = 32768 };

/* Checks that checking ends with `status` and changes nothing. */
static void check_check(int status)
{
        uint64_t before = tool_fingerprint(TOOL_ENV);

        check_xac(status, "check", TOOL_ENV);
        check_equal(tool_fingerprint(TOOL_ENV), before);
}

static void a_power_cut(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
}

static void what_was_closed_is_sound(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_check(0);
        check_said("result        sound\n");
        check_not_said("note");
        check_said("nothing beyond the checkpoint at sequence 21");
}

static void what_lost_its_power_is_sound_and_needs_recovery(void)
{
        a_power_cut();
        check_check(0);
        check_said("sound; needs recovery");
        check_said("20 commits beyond the checkpoint at sequence 1");
        check_said("16 pages changed");
}

static void what_was_killed_is_sound(void)
{
        tool_work(0, 20, TOOL_KILL);
        check_check(0);
        check_said("ended without xac_close");
        check_said("needs no recovery: the next open goes on with the shared memory");
        check_xac(3, "recover", TOOL_ENV); /* as it was told */
        check_said("needs no recovery");
        check_said("Open it with a program (xac scrub is one)");
        check_equal(tool_sum(), 20);
}

/* A copy without lock file, as tar or rsync of the data alone make it. */
static void it_needs_no_lock_file(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_equal(unlink(tool_path("xac.lock")), 0);
        check_check(0);
        check_said("result        sound\n");
}

static void what_is_in_use_is_refused(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 0, 0);
        check_check(3);
        check_said("in use");
        check_xac(0, "check", "--force", TOOL_ENV);
        check_said("it is in use");
        check_not_said("xac recover");
        check_ok(xac_close(env));
}

/* ---- Damage ---- */

static void one_torn_slot_of_the_manifest_is_what_a_crash_leaves(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        tool_damage("xac.manifest", SLOT_BYTES + 100, 1);
        check_check(0);
        check_said("slot 1 (offset 32768) is torn or damaged");
        tool_damage("xac.manifest", SLOT_BYTES + 100, 1);
        tool_damage("xac.manifest", 200, 1);
        check_check(0);
        check_said("slot 0 (offset 0) is torn or damaged");
        check_equal(tool_sum(), 20);
        check_check(0);
        check_said("both slots sound");
}

static void two_are_damage(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        tool_damage("xac.manifest", 40, 1);
        tool_damage("xac.manifest", SLOT_BYTES + 40, 1);
        check_check(1);
        check_said("DAMAGED: xac.manifest");
        check_said("restore the environment from a backup ('xac restore')");
        check_equal(truncate(tool_path("xac.manifest"), 100), 0);
        check_check(1);
        check_said("DAMAGED: xac.manifest");
}

static void a_damaged_log_is_told_with_its_offset(void)
{
        a_power_cut();
        tool_damage("xac.log.1", 4096 + 2 * 4096 + 20, 1); /* the third commit's group */
        check_check(1);
        check_said("DAMAGED: xac.log.1: offset 12288");
        check_said("result        DAMAGED, in 1 place");
}

static void a_missing_segment_is_told(void)
{
        a_power_cut();
        check_equal(unlink(tool_path("xac.log.1")), 0);
        check_check(1);
        check_said("DAMAGED: ");
        check_said("segment");
}

static void a_missing_or_short_data_file_is_told(void)
{
        a_power_cut();
        check_equal(truncate(tool_path(TOOL_FILE), 3 * 4096), 0);
        check_check(1);
        check_said("DAMAGED: " TOOL_FILE);
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        check_check(1);
        check_said("DAMAGED: " TOOL_FILE);
        check_equal(mkdir(tool_path(TOOL_FILE), 0700), 0);
        check_check(1);
        check_said("DAMAGED: " TOOL_FILE " is not a plain file");
}

/* The machine goes down some time after a checkpoint: the manifest names a buffer. */
static void a_checkpoint_and_no_close(int unused, void *unused_)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused, (void)unused_;
        for (unsigned i = 0; i < 20; i++)
                tool_commit(env, words, i % TOOL_PAGES, 0);
        check_ok(xac_checkpoint(env));
        crew_exit(0);
}

static const char *buffer_in_use(void)
{
        return scratch_file_size(tool_path("xac.area.0")) > 0 ? "xac.area.0" : "xac.area.1";
}

static void a_damaged_buffer_is_told_with_its_offset(void)
{
        crew_join(crew_fork(a_checkpoint_and_no_close, 0, NULL));
        tool_power_cut();
        check_check(0);
        check_said("double-write  xac.area.");
        check_said("sound; needs recovery");
        tool_damage(buffer_in_use(), 8192 + 3 * 4096 + 77, 1); /* header, table, the fourth page */
        tool_damage(TOOL_FILE, 3 * 4096 + 77, 1);              /* else nothing would be lost */
        check_check(1);
        check_said("DAMAGED: xac.area.");
        check_said("20480");
        check_xac(1, "recover", TOOL_ENV);
        check_said("xac.area.");
}

/* ---- Files of others ---- */

/* Another environment, in the directory "other", which lost its power. */
static void make_other(void)
{
        a_power_cut();
        check_equal(rename(TOOL_ENV, scratch_path("other")), 0);
}

static void another_environments_segment_is_told(void)
{
        make_other();
        tool_work(0, 20, TOOL_CLOSE);
        tool_copy_file(scratch_path("other/xac.log.1"), tool_path("xac.log.7"));
        check_check(1);
        check_said("DAMAGED: xac.log.7");
        check_said("another environment");
        check_equal(unlink(tool_path("xac.log.7")), 0);
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_check(0);
        tool_copy_file(scratch_path("other/xac.log.1"), tool_path("xac.log.7"));
        check_check(1);
        check_said("xac.log.7");
        check_equal(tool_count_said("DAMAGED: "), 1);
}

static void swapped_logs_are_told(void)
{
        make_other();
        a_power_cut();
        tool_copy_file(scratch_path("other/xac.log.1"), tool_path("xac.log.1"));
        check_check(1);
        check_said("DAMAGED: xac.log.1");
}

static void a_swapped_buffer_is_told(void)
{
        const char *name;

        crew_join(crew_fork(a_checkpoint_and_no_close, 0, NULL));
        tool_power_cut();
        name = buffer_in_use();
        tool_copy_file(tool_path(name), scratch_path("buffer"));
        check_equal(rename(TOOL_ENV, scratch_path("other")), 0);
        crew_join(crew_fork(a_checkpoint_and_no_close, 0, NULL));
        tool_power_cut();
        check_check(0);
        tool_copy_file(scratch_path("buffer"), tool_path(buffer_in_use()));
        check_check(1);
        check_said("DAMAGED: xac.area.");
}

static void files_of_others_and_permissions_are_noted(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        scratch_write_file(tool_path("notes.txt"), "mine", 4);
        check_check(0);
        check_not_said("note:");
        scratch_write_file(tool_path("xac.manifest.new"), "half made", 9);
        scratch_write_file(tool_path("xac.log.9"), "half made", 9);
        check_check(0);
        check_said("xac.manifest.new is not used");
        check_said("xac.log.9 has no valid header");
        check_equal(chmod(tool_path(TOOL_FILE), 0644), 0);
        check_check(0);
        check_said(TOOL_FILE " has permissions 0644, more than the environment's 0600");
        check_equal(chmod(tool_path("xac.lock"), 0400), 0);
        check_check(0);
        check_said("xac.lock has permissions 0400, fewer than");
}

/* Nobody reads the log of what was closed, but who opens it looks at the files. */
static void a_segment_that_is_there_twice_is_told(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "check", TOOL_ENV);
        scratch_shell("cp '%s'/xac.log.1 '%s'/xac.log.99", TOOL_ENV, TOOL_ENV);
        check_xac(1, "check", TOOL_ENV);
        check_said("a segment file is another environment's, or a copy of another one");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_was_closed_is_sound),
                isolated_test(what_lost_its_power_is_sound_and_needs_recovery),
                isolated_test(what_was_killed_is_sound),
                isolated_test(it_needs_no_lock_file),
                isolated_test(what_is_in_use_is_refused),
                isolated_test(one_torn_slot_of_the_manifest_is_what_a_crash_leaves),
                isolated_test(two_are_damage),
                isolated_test(a_damaged_log_is_told_with_its_offset),
                isolated_test(a_missing_segment_is_told),
                isolated_test(a_missing_or_short_data_file_is_told),
                isolated_test(a_damaged_buffer_is_told_with_its_offset),
                isolated_test(another_environments_segment_is_told),
                isolated_test(swapped_logs_are_told),
                isolated_test(a_swapped_buffer_is_told),
                isolated_test(files_of_others_and_permissions_are_noted),
                isolated_test(a_segment_that_is_there_twice_is_told),
        };
        return cmocka_run_group_tests_name("xac check", tests, NULL, NULL);
}
