/* SPDX-License-Identifier: MIT */
#include "recovery/replay.h"

/*
 * Commits that were logged together: replay comes to the same pages as with a record for each, and refuses those
 * that do not join on to the state before them.
 */

#include "tests/recovery/replay_stand.h"
#include "tests/support/leeway.h"

/* ---- Sound logs ---- */

static unsigned char before[PAGES][PAGE]; /* at the newest commit that was logged */

/* So many commits, none of which is logged. */
static void make_commits(uint64_t count)
{
        sequence += count;
        for (uint64_t i = 0; i < count; i++) {
                uint32_t page_no = (uint32_t)chance_below(&chance, PAGES);
                uint32_t at = (uint32_t)chance_below(&chance, PAGE - 300);

                if (chance_percent(&chance, 30))
                        memmove(now[page_no] + at + 16, now[page_no] + at, 200);
                now[page_no][at] ^= 0x5a;
        }
}

/* Logs them with what one record says of each page; a part of it may have gone before, in fragments. */
static void put_merged(uint64_t count, bool has_fragments)
{
        uint64_t transaction = 0;

        for (uint32_t page_no = 0; page_no < PAGES; page_no++) {
                if (memcmp(before[page_no], now[page_no], PAGE) == 0)
                        continue;
                add_changes(page_no, before[page_no], now[page_no]);
                sequence_of[page_no] = sequence;
                if (has_fragments && chance_percent(&chance, 30))
                        put_fragment(&transaction);
        }
        assert_int_equal(try_merged(sequence - count, transaction), 0);
        memcpy(before, now, sizeof(now));
}

/* Merged ones between single ones, of one commit and of many. */
static void test_merged_commits_are_those_that_they_stand_for(void **state)
{
        (void)state;
        memcpy(before, now, sizeof(now));
        for (int i = 0; i < 300; i++) {
                uint64_t count = 1 + chance_below(&chance, chance_percent(&chance, 50) ? 3 : 200);

                make_commits(count);
                put_merged(count, chance_percent(&chance, 40));
                assert_int_equal(replay_sequence(replay), sequence);
                if (chance_percent(&chance, 50)) {
                        change_page(now, 7);
                        sequence_of[7] = sequence + 1;
                        put_commit(0);
                        memcpy(before, now, sizeof(now));
                }
        }
        assert_same_as_model();
}

/* They cancelled each other out. */
static void test_merged_commits_that_changed_nothing_count(void **state)
{
        (void)state;
        sequence += 50;
        assert_int_equal(try_merged(BASE, 0), 0);
        put_commit(0);
        assert_same_as_model();
}

static void test_moves_of_merged_commits_read_their_base(void **state)
{
        (void)state;
        sequence += 4;
        memcpy(before, now, sizeof(now));
        add_move(3, LOG_MOVED, 6, before[6]);
        add_move(6, LOG_MOVED, 3, before[3]);
        sequence_of[3] = sequence_of[6] = ++sequence;
        assert_int_equal(try_merged(BASE, 0), 0);
        assert_same_as_model();
}

/* What is home already is not looked at. */
static void test_merged_commits_up_to_the_base_are_passed_over(void **state)
{
        uint64_t transaction = 0;

        (void)state;
        sequence = BASE - 20;
        add_entry(3, LOG_IMAGE, 8); /* makes no sense */
        assert_int_equal(try_merged(BASE - 90, 0), 0);
        put_fragment(&transaction);
        sequence = BASE;
        add_entry(3, LOG_IMAGE, 8);
        assert_int_equal(try_merged(BASE - 20, transaction), 0);
        assert_int_equal(replay_sequence(replay), BASE);
        assert_int_equal(replay_commits(replay), 0);
        assert_int_equal(home_reads, 0);

        memcpy(before, now, sizeof(now));
        make_commits(30);
        put_merged(30, false);
        assert_same_as_model();
}

/* Their fragments may have begun before the place where reading begins. */
static void test_fragments_of_merged_commits_begun_before_are_passed_over(void **state)
{
        (void)state;
        position = 81920;
        assert_int_equal(put_record(LOG_FRAGMENT, 4096, NULL), 0);
        sequence = BASE;
        assert_int_equal(try_merged(BASE - 5, 4096), 0);
        change_page(now, 3);
        sequence_of[3] = BASE + 1;
        put_commit(0);
        assert_same_as_model();
}

static void test_a_home_that_cannot_be_read(void **state)
{
        (void)state;
        home_error = -EIO;
        memcpy(before, now, sizeof(now));
        make_commits(5);
        for (uint32_t page_no = 0; page_no < PAGES; page_no++)
                if (memcmp(before[page_no], now[page_no], PAGE) != 0)
                        add_changes(page_no, before[page_no], now[page_no]);
        assert_int_equal(try_merged(BASE, 0), -EIO);
}

/* ---- Logs that make no sense ---- */

/* The commits after `base` up to `newest`, next in the log. */
static void assert_corrupt(uint64_t base, uint64_t newest)
{
        sequence = newest;
        assert_int_equal(try_merged(base, 0), XAC_CORRUPT);
}

static void test_the_first_must_join_on_to_the_base(void **state)
{
        (void)state;
        assert_corrupt(BASE + 1, BASE + 5);
        assert_corrupt(BASE - 1, BASE + 5); /* half of them are home */
        assert_corrupt(0, BASE + 1);
        assert_corrupt(BASE, BASE);
        assert_corrupt(BASE + 5, BASE);
        assert_corrupt(BASE - 5, BASE - 5);
        assert_corrupt(UINT64_MAX, BASE + 1);
        assert_corrupt(UINT64_MAX, 0);
        assert_corrupt(0, 0);
        assert_int_equal(replay_commits(replay), 0);
        sequence = BASE + 5;
        assert_int_equal(try_merged(BASE, 0), 0);
        assert_int_equal(replay_sequence(replay), BASE + 5);
        assert_int_equal(replay_commits(replay), 5);
}

static void test_the_next_must_join_on_to_the_one_before(void **state)
{
        (void)state;
        put_commit(0);
        assert_corrupt(BASE, BASE + 9);
        assert_corrupt(BASE + 2, BASE + 9);
        assert_corrupt(BASE + 1, BASE + 1);
        sequence = BASE + 9;
        assert_int_equal(try_merged(BASE + 1, 0), 0);
        assert_corrupt(BASE + 1, BASE + 9); /* the same again */
        assert_corrupt(BASE + 8, BASE + 12);
        assert_corrupt(BASE + 10, BASE + 12);
        sequence = BASE + 9;
        assert_int_equal(put_record(LOG_COMMIT, 0, NULL), XAC_CORRUPT);
        sequence = BASE + 11;
        assert_int_equal(put_record(LOG_COMMIT, 0, NULL), XAC_CORRUPT);
        sequence = BASE + 9;
        put_commit(0);
        assert_int_equal(replay_commits(replay), 10);
}

/* It joins on to the one before, but half of them are home. */
static void test_a_checkpoint_is_not_in_between(void **state)
{
        (void)state;
        sequence = BASE - 10;
        put_commit(0);
        assert_corrupt(BASE - 9, BASE + 1);
        sequence = BASE - 3;
        assert_int_equal(try_merged(BASE - 9, 0), 0);
        assert_corrupt(BASE - 3, BASE + 1);
        sequence = BASE;
        assert_int_equal(try_merged(BASE - 3, 0), 0);
        sequence = BASE + 1;
        assert_int_equal(try_merged(BASE, 0), 0);
        assert_int_equal(replay_commits(replay), 1);
}

static void test_merged_commits_without_their_fragments(void **state)
{
        uint64_t transaction = 0;

        (void)state;
        position = 81920;
        put_fragment(&transaction);
        sequence += 5;
        assert_int_equal(try_merged(BASE, 4096), XAC_CORRUPT);
        assert_int_equal(try_merged(BASE, UINT64_MAX), XAC_CORRUPT); /* its own position */
        assert_int_equal(try_merged(BASE, position + 4096), XAC_CORRUPT);
        assert_int_equal(try_merged(BASE, transaction), 0);
        sequence += 5;
        assert_int_equal(try_merged(BASE + 5, transaction), XAC_CORRUPT); /* they are used up */
}

/* Too short for the base, which is not read then (ASan looks on); and what is behind it. */
static void test_malformed_payloads(void **state)
{
        (void)state;
        sequence += 5;
        for (uint32_t len = 0; len < LOG_MERGED_HEADER; len++) {
                payload.len = len;
                assert_int_equal(put_record(LOG_MERGED, 0, NULL), XAC_CORRUPT);
        }
        memset(payload.bytes, 0, LOG_ENTRY_HEADER);
        payload.len = LOG_ENTRY_HEADER - 1;
        assert_int_equal(try_merged(BASE, 0), XAC_CORRUPT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_merged_commits_are_those_that_they_stand_for, setup, teardown),
                cmocka_unit_test_setup_teardown(test_merged_commits_that_changed_nothing_count, setup, teardown),
                cmocka_unit_test_setup_teardown(test_moves_of_merged_commits_read_their_base, setup, teardown),
                cmocka_unit_test_setup_teardown(test_merged_commits_up_to_the_base_are_passed_over, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fragments_of_merged_commits_begun_before_are_passed_over, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_a_home_that_cannot_be_read, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_first_must_join_on_to_the_base, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_next_must_join_on_to_the_one_before, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_checkpoint_is_not_in_between, setup, teardown),
                cmocka_unit_test_setup_teardown(test_merged_commits_without_their_fragments, setup, teardown),
                cmocka_unit_test_setup_teardown(test_malformed_payloads, setup, teardown),
        };

        leeway_alarm(200);
        return cmocka_run_group_tests(tests, group_setup, NULL);
}
