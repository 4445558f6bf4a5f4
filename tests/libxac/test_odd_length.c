/* SPDX-License-Identifier: MIT */

/*
 * A data file whose last page is not whole. Recovery restores that page from the double-write buffer, which makes the
 * file longer, and goes on from what it has restored.
 */

#include "tests/libxac/backlog_stand.h"

enum { WORD_IN_BUFFER = 300, WORD_IN_LOG = 400 };

static const char tail[] = "0123456789";

static void map_file(void)
{
        words = xac_mmap(env, "odd", 0, 0);
        check(words != MAP_FAILED);
}

static void commit_word(size_t word, uint64_t value)
{
        begin(0);
        uint64_t *at = xac_page_write(env, &words[word]);
        check(at != NULL);
        *at = value;
        end();
}

/* A snapshot keeps the page from going home: the double-write buffer has it, and the log what follows. */
static void write_and_die(void)
{
        xac_snapshot *snapshot;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        leave();
        scratch_write_file(scratch_path("env/odd"), tail, sizeof(tail));
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        duty_stop(env);
        map_file();
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        commit_word(WORD_IN_BUFFER, 4711);
        check_ok(xac_checkpoint(env));
        commit_word(WORD_IN_LOG, 4712);
}

static void check_words(void)
{
        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        map_file();
        begin(XAC_RDONLY);
        const uint64_t *page = xac_page_read(env, words);
        check(page != NULL);
        check_equal(memcmp(page, tail, sizeof(tail)), 0);
        check_equal(page[WORD_IN_BUFFER], 4711);
        check_equal(page[WORD_IN_LOG], 4712);
        end();
        leave();
}

static void the_last_page_is_recovered(void)
{
        set_up();
        then_the_machine_goes_down(write_and_die);
        check_words();
}

/* Nothing would tell that it was another page. */
static void so_it_is_where_nothing_is_known_of_it(void)
{
        set_up();
        then_the_machine_goes_down(write_and_die);
        check_equal(unlink(scratch_path("env/xac.sums.0")), 0);
        check_words();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_last_page_is_recovered),
                isolated_test(so_it_is_where_nothing_is_known_of_it),
        };
        return cmocka_run_group_tests_name("a file of odd length", tests, NULL, NULL);
}
