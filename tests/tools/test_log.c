/* SPDX-License-Identifier: MIT */

/*
 * xac log: every commit is one line, with what it did; and how the log ends.
 */

#include <stdio.h>
#include <string.h>

#include "tests/tools/tool.h"

/* Where the first line that has this kind and sequence says that it stands in xac.log.1. */
static uint64_t offset_of(unsigned sequence)
{
        unsigned long long offset = 0;
        unsigned found;
        const char *line;

        check_xac(0, "log", TOOL_ENV);
        for (line = strchr(tool.said, '\n'); line != NULL; line = strchr(line + 1, '\n'))
                if (sscanf(line, " %*u xac.log.1+%llu %u commit", &offset, &found) == 2 && found == sequence)
                        return offset;
        check_failed(__FILE__, __LINE__, "commit %u is not in the log:\n%s", sequence, tool.said);
}

static void every_commit_is_a_line(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "log", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 20);
        check_said("20 records, 20 commits, the newest 21; checkpoint at sequence 1.");
        check_said(", cleanly.");
}

static void a_closed_environment_has_an_empty_log(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "log", TOOL_ENV);
        check_said("The log is empty: everything up to sequence 21 is in the data files.");
}

static void ranges_are_kept_to(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "log", "--from", "20", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 2);
        check_xac(0, "log", "--to", "4", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 3);
        check_xac(0, "log", "--from", "7", "--to", "7", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 1);
        check_said("20 commits, the newest 21"); /* the end is that of the log all the same */
        check_xac(0, "log", "--from", "22", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 0);
}

static void pages_and_bytes_are_what_was_stored(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        /* The 17th commit is the second to page 0: its word, the sixth, goes from 1 to 2. */
        check_xac(0, "log", "--from", "18", "--to", "18", "--pages", TOOL_ENV);
        check_said(TOOL_FILE " page 0  changes");
        check_said("bytes     40  ");
        check_not_said(" 02 ");
        check_xac(0, "log", "--from", "18", "--to", "18", "--bytes", TOOL_ENV);
        check_said("   40  02");
}

static void pages_that_moved_say_from_where(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 3, 0);
        check_ok(xbegin(env, 0));
        check_ok(xac_page_move(env, words + 5 * 512, words + 3 * 512, 1));
        check_ok(xend(env));
        check_xac(0, "log", "--from", "3", "--to", "3", "--pages", TOOL_ENV);
        check_said(TOOL_FILE " page 5  moved from page 3, 0 bytes");
        check_said(TOOL_FILE " page 3  cleared, 0 bytes");
        check_ok(xac_close(env));
}

/* A transaction larger than a record: fragments, each with the number of the commit they belong to. */
static void write_much(int commits, void *unused)
{
        enum { PAGES = 2048, WORDS = PAGES * 512 };
        const xac_options options = { .pool_bytes = 64 << 20, .log_bytes = 64 << 20 };
        uint64_t value = 88172645463325252U;
        uint64_t *words;
        xac_env *env;

        (void)unused;
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        words = xac_mmap(env, TOOL_FILE, WORDS * 8, 0);
        for (int i = 0; i < commits; i++) {
                check_ok(xbegin(env, 0));
                for (unsigned word = 0; word < WORDS; word++) {
                        value ^= value << 13, value ^= value >> 7, value ^= value << 17;
                        words[word] = value;
                }
                check_ok(xend(env));
        }
        crew_exit(0); /* without closing it */
}

static void fragments_have_the_number_of_their_commit(void)
{
        crew_join(crew_fork(write_much, 2, NULL));
        tool_power_cut();
        check_xac(0, "log", "--from", "3", "--to", "3", TOOL_ENV);
        check(tool_count_said(" 3 fragment ") >= 1);
        check_equal(tool_count_said(" 3 commit "), 1);
        check_not_said(" 2 fragment ");
        check_not_said(" 2 commit ");
        check_xac(0, "log", TOOL_ENV);
        check_said(" 2 fragment ");
        check_xac(0, "recover", TOOL_ENV);
}

/* The end of the last group is missing on disk: nobody was told that it was there. */
static void a_torn_tail_is_no_damage(void)
{
        uint64_t offset;

        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        offset = offset_of(21);
        tool_damage("xac.log.1", offset + 60, 4);
        check_xac(0, "log", TOOL_ENV);
        check_said("torn tail");
        check_said("19 commits, the newest 20");
        check_not_said("DAMAGED");
        check_xac(0, "stat", TOOL_ENV);
        check_said("up to sequence 20\n");
        check_equal(tool_sum(), 19);
}

static void damage_is_told_where_it_is(void)
{
        char expected[80];
        uint64_t offset;

        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        offset = offset_of(10);
        tool_damage("xac.log.1", offset + 8, 1);
        check_xac(1, "log", TOOL_ENV);
        snprintf(expected, sizeof(expected), "xac.log.1+%llu: ", (unsigned long long)offset);
        check_said("DAMAGED at position");
        check_said(expected);
        check_equal(tool_count_said(" commit "), 8);
}

static void a_log_in_use_may_be_read(void)
{
        uint64_t before;
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        for (unsigned i = 0; i < 6; i++)
                tool_commit(env, words, i, 0);
        before = tool_fingerprint(TOOL_ENV);
        check_xac(0, "log", TOOL_ENV);
        check_equal(tool_fingerprint(TOOL_ENV), before);
        check_equal(tool_count_said(" commit "), 6);
        check_said("in use, so the end moves");
        check_ok(xac_checkpoint(env));
        tool_commit(env, words, 0, 0);
        check_xac(0, "log", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 1);
        check_said("checkpoint at sequence 7.");
        check_ok(xac_close(env));
}

/* While a process commits and makes checkpoints as fast as it can, each look gives lines or says that
 * a checkpoint came between. */
static void commit_and_recycle(int unused, void *stop_)
{
        const xac_options options = { .pool_bytes = 8 << 20, .log_bytes = TOOL_SEGMENT };
        const _Atomic int *stop = stop_;
        uint64_t *words;
        xac_env *env;

        (void)unused;
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        words = xac_mmap(env, TOOL_FILE, TOOL_PAGES * 4096, 0);
        for (unsigned i = 0; !*stop; i++)
                tool_commit(env, words, i % TOOL_PAGES, XAC_NOSYNC);
        check_ok(xac_close(env));
}

static void a_log_that_is_recycled_meanwhile_is_no_damage(void)
{
        _Atomic int *stop = crew_shared(sizeof(*stop));
        pid_t writer;

        tool_work(0, 1, TOOL_CLOSE);
        writer = crew_fork(commit_and_recycle, 0, (void *)(uintptr_t)stop);
        for (int i = 0; i < 30; i++) {
                int status = tool_xac(tool_args("log", TOOL_ENV));

                check_not_said("DAMAGED");
                check(status == 0 || status == 3);
        }
        *stop = 1;
        crew_join(writer);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(every_commit_is_a_line),
                isolated_test(a_closed_environment_has_an_empty_log),
                isolated_test(ranges_are_kept_to),
                isolated_test(pages_and_bytes_are_what_was_stored),
                isolated_test(pages_that_moved_say_from_where),
                isolated_test(fragments_have_the_number_of_their_commit),
                isolated_test(a_torn_tail_is_no_damage),
                isolated_test(damage_is_told_where_it_is),
                isolated_test(a_log_in_use_may_be_read),
                isolated_test(a_log_that_is_recycled_meanwhile_is_no_damage),
        };
        return cmocka_run_group_tests_name("xac log", tests, NULL, NULL);
}
