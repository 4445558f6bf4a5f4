/* SPDX-License-Identifier: MIT */

/*
 * xac recover: does what the next open would, says what it did, and is refused where it would do harm.
 */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/tool.h"

static void a_power_cut(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
}

static void it_replays_the_log(void)
{
        uint64_t word;

        a_power_cut();
        check_xac(0, "recover", TOOL_ENV);
        check_said("replayed      20 commits, 16 pages changed");
        check_said("sequence      21,");
        check_said("MB/s");
        /* It is in the plain file, before anything opens it. */
        scratch_read_file(tool_path(TOOL_FILE), &word, sizeof(word));
        check_xac(0, "stat", TOOL_ENV);
        check_said("at rest, clean");
        check_xac(0, "check", TOOL_ENV);
        check_said("result        sound\n");
        check_equal(tool_sum(), 20);
}

static void twice_is_once(void)
{
        uint64_t before;

        a_power_cut();
        check_xac(0, "recover", TOOL_ENV);
        before = tool_fingerprint(TOOL_ENV);
        check_xac(0, "recover", TOOL_ENV);
        check_said("Nothing to do: everything up to sequence 21 is in the data files.");
        check_equal(tool_fingerprint(TOOL_ENV), before);
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "recover", TOOL_ENV);
        check_said("Nothing to do: everything up to sequence 41");
        check_equal(tool_sum(), 40);
}

static void progress_is_lines_in_a_file_and_a_bar_on_a_terminal(void)
{
        a_power_cut();
        check_xac(0, "recover", TOOL_ENV);
        check_said("replay: 100 %");
        check_said("checkpoint: 100 %");
        check_equal(strchr(tool.said, '\r') != NULL, 0);
        a_power_cut();
        check_equal(tool_xac_on_terminal(tool_args("recover", TOOL_ENV)), 0);
        check_said("[####");
        check_said("100 %");
        check_said("replayed      20 commits");
}

static void a_torn_tail_is_dropped_and_told(void)
{
        a_power_cut();
        tool_damage("xac.log.1", 4096 + 19 * 4096 + 60, 1); /* the last commit's group */
        check_xac(0, "recover", TOOL_ENV);
        check_said("replayed      19 commits");
        check_said("torn tail");
        check_equal(tool_sum(), 19);
}

static void damage_stops_it_and_changes_nothing(void)
{
        uint64_t before;

        a_power_cut();
        tool_damage("xac.log.1", 4096 + 7 * 4096 + 60, 1);
        before = tool_fingerprint(TOOL_ENV);
        check_xac(1, "recover", TOOL_ENV);
        check_said("xac.log.1: offset 32768");
        check_equal(tool_fingerprint(TOOL_ENV), before);
        tool_damage("xac.log.1", 4096 + 7 * 4096 + 60, 1); /* put right again */
        check_xac(0, "recover", TOOL_ENV);
        check_equal(tool_sum(), 20);
}

static void what_is_in_use_is_refused(void)
{
        uint64_t before;
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 0, 0);
        before = tool_fingerprint(TOOL_ENV);
        check_xac(3, "recover", TOOL_ENV);
        check_said("is in use");
        check_xac(3, "recover", "--force", "--discard", TOOL_ENV);
        check_equal(tool_fingerprint(TOOL_ENV), before);
        check_ok(xac_close(env));
        check_equal(tool_sum(), 1);
}

/* Commits that did not wait for the disk, and processes that were killed: nothing is lost while the
 * machine is up, unless somebody insists. */
static void commits_in_shared_memory_are_not_thrown_away(void)
{
        tool_work(XAC_NOSYNC, 20, TOOL_KILL);
        check_xac(3, "recover", TOOL_ENV);
        check_said("needs no recovery");
        check_said("in shared memory");
        check_equal(tool_sum(), 20);
        tool_work(XAC_VOLATILE, 20, TOOL_KILL);
        check_xac(3, "recover", TOOL_ENV);
        tool_power_cut();
        check_equal(tool_sum(), 20);
}

static void unless_somebody_insists(void)
{
        uint64_t sum;

        tool_work(XAC_NOSYNC, 20, TOOL_KILL);
        check_xac(0, "recover", "--discard", TOOL_ENV);
        sum = tool_sum(); /* which makes its own shared memory: that of the killed one is not believed */
        check(sum < 20);
        check_xac(0, "check", TOOL_ENV);
}

static void a_copy_recovers_on_its_own(void)
{
        static const char *const names[] = { TOOL_FILE, "xac.log.1", "xac.manifest", "xac.sums.0" };
        char path[64];

        a_power_cut();
        check_equal(rename(TOOL_ENV, scratch_path("first")), 0);
        tool_work(0, 0, TOOL_CLOSE);
        check_equal(unlink(tool_path("xac.lock")), 0);
        for (int i = 0; i < 4; i++) {
                snprintf(path, sizeof(path), "first/%s", names[i]);
                tool_copy_file(scratch_path(path), tool_path(names[i]));
        }
        check_xac(0, "recover", TOOL_ENV);
        check_said("replayed      20 commits");
        check_equal(tool_sum(), 20);
}

static void a_directory_that_may_only_be_read_is_told(void)
{
        a_power_cut();
        if (geteuid() == 0)
                isolate_skip("root may write everywhere");
        check_equal(chmod(tool_path("xac.lock"), 0400), 0);
        check_xac(1, "recover", TOOL_ENV);
        check_said("Permission denied");
        check_xac(0, "check", TOOL_ENV);
}

static void root_does_not_take_files_away_from_their_owner(void)
{
        enum { NOBODY = 65534 };

        a_power_cut();
        if (geteuid() != 0)
                isolate_skip("only root may give files away");
        check_equal(chown(tool_path("xac.manifest"), NOBODY, NOBODY), 0);
        check_xac(1, "recover", TOOL_ENV);
        check_said("belongs to user 65534");
        check_xac(0, "recover", "--force", TOOL_ENV);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(it_replays_the_log),
                isolated_test(twice_is_once),
                isolated_test(progress_is_lines_in_a_file_and_a_bar_on_a_terminal),
                isolated_test(a_torn_tail_is_dropped_and_told),
                isolated_test(damage_stops_it_and_changes_nothing),
                isolated_test(what_is_in_use_is_refused),
                isolated_test(commits_in_shared_memory_are_not_thrown_away),
                isolated_test(unless_somebody_insists),
                isolated_test(a_copy_recovers_on_its_own),
                isolated_test(a_directory_that_may_only_be_read_is_told),
                isolated_test(root_does_not_take_files_away_from_their_owner),
        };
        return cmocka_run_group_tests_name("xac recover", tests, NULL, NULL);
}
