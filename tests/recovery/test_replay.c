/* SPDX-License-Identifier: MIT */
#include "recovery/replay.h"

/*
 * Replay gives the pages that a plain serial run gives, whatever the order of fragments; and what it does when it
 * cannot go on. Logs that make no sense: test_replay_damage.c.
 */

#include "tests/recovery/replay_stand.h"
#include "tests/support/leeway.h"

#include "recovery/replay_pages.h"

/* ---- Sound logs ---- */

static void test_nothing_is_nothing(void **state)
{
        (void)state;
        assert_same_as_model();
        assert_int_equal(home_reads, 0);
}

static void test_commits_give_what_a_serial_run_gives(void **state)
{
        (void)state;
        for (int i = 0; i < 2000; i++) {
                for (uint64_t pages = 1 + chance_below(&chance, 4); pages > 0; pages--) {
                        uint32_t page_no = (uint32_t)chance_below(&chance, PAGES);

                        change_page(now, page_no);
                        sequence_of[page_no] = sequence + 1;
                }
                put_commit(0);
        }
        assert_in_range(home_reads, 1, PAGES); /* each once, at most */
        assert_same_as_model();
}

static void test_an_image_needs_no_home(void **state)
{
        (void)state;
        memset(now[5], 0x55, PAGE);
        log_entry_encode(payload.bytes, page_name(5), LOG_IMAGE, PAGE);
        memcpy(payload.bytes + LOG_ENTRY_HEADER, now[5], PAGE);
        payload.len = LOG_ENTRY_HEADER + PAGE;
        sequence_of[5] = sequence + 1;
        put_commit(0);
        assert_int_equal(home_reads, 0);
        assert_same_as_model();
}

/* A page that was rewritten with the same bytes, and a commit with nothing at all. */
static void test_empty_entries_and_empty_commits_count(void **state)
{
        (void)state;
        log_entry_encode(payload.bytes, page_name(9), LOG_CHANGES, 0);
        payload.len = LOG_ENTRY_HEADER;
        sequence_of[9] = sequence + 1;
        put_commit(0);
        put_commit(0);
        assert_same_as_model();
}

/* Pages that go round, in any order of the entries, some of them never touched before; and what is left behind. */
static void test_moves_read_the_state_before_the_record(void **state)
{
        static const unsigned char zeros[PAGE];
        static unsigned char before[PAGES][PAGE];

        (void)state;
        for (int i = 0; i < 500; i++) {
                uint32_t file = (uint32_t)chance_below(&chance, 3), count = 2 + (uint32_t)chance_below(&chance, 5);
                uint32_t step = 3 * (1 + (uint32_t)chance_below(&chance, 3)); /* pages of one file are 3 apart */
                uint64_t transaction = 0;

                memcpy(before, now, sizeof(now));
                for (uint32_t n = 0; n < count; n++) {
                        uint32_t to = file + step * n, from = file + step * ((n + 1) % count);

                        if (n + 1 == count && chance_percent(&chance, 50))
                                add_move(to, LOG_CLEARED, 0, zeros);
                        else
                                add_move(to, LOG_MOVED, from, before[from]);
                        if (chance_percent(&chance, 20))
                                put_fragment(&transaction);
                }
                put_commit(transaction);
        }
        assert_same_as_model();
}

/* Also where a page is the source and changes as well, before or after. */
static void test_a_source_may_change_in_the_same_record(void **state)
{
        unsigned char before[2][PAGE];

        (void)state;
        for (int is_first = 0; is_first < 2; is_first++) {
                memcpy(before[0], now[3], PAGE);
                memcpy(before[1], now[6], PAGE);
                if (is_first)
                        change_page(now, 3);
                sequence_of[3] = sequence + 1;
                add_move(6, LOG_MOVED, 3, before[0]);
                if (!is_first)
                        change_page(now, 3);
                put_commit(0);
        }
        assert_same_as_model();
}

/* What is moved or cleared needs no home, but its source does. */
static void test_homes_of_moved_pages(void **state)
{
        static const unsigned char zeros[PAGE];

        (void)state;
        add_move(3, LOG_CLEARED, 0, zeros);
        put_commit(0);
        assert_int_equal(home_reads, 0);
        add_move(6, LOG_MOVED, 9, now[9]);
        put_commit(0);
        assert_int_equal(home_reads, 1);
        add_move(12, LOG_MOVED, 6, now[6]);
        put_commit(0);
        assert_int_equal(home_reads, 1);
        home_error = -EIO;
        add_move(15, LOG_MOVED, 18, now[18]);
        sequence++;
        assert_int_equal(put_record(LOG_COMMIT, 0, NULL), -EIO);
}

/* Several large transactions at a time, their fragments mixed with commits; each works on pages of its own,
 * and some are aborted. */
static void test_fragments_count_when_their_commit_comes(void **state)
{
        enum { WRITERS = 4, OWN = PAGES / WRITERS };
        static unsigned char theirs[PAGES][PAGE];
        uint64_t transaction[WRITERS] = { 0 };
        bool has_written[PAGES] = { false };

        (void)state;
        memcpy(theirs, now, sizeof(now));
        for (int i = 0; i < 3000; i++) {
                uint32_t writer = (uint32_t)chance_below(&chance, WRITERS);
                uint32_t first = writer * OWN;
                uint32_t page_no = first + (uint32_t)chance_below(&chance, OWN);

                change_page(theirs, page_no);
                has_written[page_no] = true;
                switch (chance_below(&chance, 4)) {
                case 0: /* commits */
                        put_commit(transaction[writer]);
                        memcpy(now[first], theirs[first], OWN * sizeof(now[0]));
                        for (uint32_t page = first; page < first + OWN; page++)
                                if (has_written[page])
                                        sequence_of[page] = sequence;
                        break;
                case 1: /* aborts */
                        payload.len = 0;
                        memcpy(theirs[first], now[first], OWN * sizeof(now[0]));
                        break;
                default:
                        put_fragment(&transaction[writer]);
                        continue;
                }
                transaction[writer] = 0;
                memset(has_written + first, 0, OWN * sizeof(*has_written));
        }
        assert_same_as_model();
}

/* ---- Where replay begins ---- */

/* Commits up to the base are home already; their fragments go with them. */
static void test_commits_up_to_the_base_are_passed_over(void **state)
{
        uint64_t old_transaction;

        (void)state;
        sequence = BASE - 3;
        assert_int_equal(put_record(LOG_FRAGMENT, UINT64_MAX, &old_transaction), 0);
        for (int i = 0; i < 3; i++) {
                static unsigned char ignored[PAGES][PAGE];

                change_page(ignored, 3); /* nothing of it may be looked at: it would not fit */
                put_commit(i == 1 ? old_transaction : 0);
        }
        assert_int_equal(sequence, BASE);
        assert_int_equal(replay_sequence(replay), BASE);
        assert_int_equal(replay_commits(replay), 0);
        assert_int_equal(home_reads, 0);
        change_page(now, 3);
        sequence_of[3] = BASE + 1;
        put_commit(0);
        assert_same_as_model();
}

/* A transaction that was decided by the checkpoint may have begun before the place where reading begins. */
static void test_fragments_begun_before_are_passed_over(void **state)
{
        (void)state;
        position = 81920;
        assert_int_equal(put_record(LOG_FRAGMENT, UINT64_MAX, NULL), 0);
        assert_int_equal(put_record(LOG_FRAGMENT, 4096, NULL), 0);
        sequence = BASE - 1;
        put_commit(4096);
        change_page(now, 3);
        sequence_of[3] = BASE + 1;
        put_commit(0);
        assert_same_as_model();
}

/* ---- Failures ---- */

static void test_a_home_that_cannot_be_read(void **state)
{
        unsigned char before[PAGE];

        (void)state;
        home_error = -EIO;
        memcpy(before, now[3], PAGE);
        now[3][100] ^= 1;
        add_changes(3, before, now[3]);
        sequence++;
        assert_int_equal(put_record(LOG_COMMIT, 0, NULL), -EIO);
}

/* Replays one commit for each of so many pages; the first error. */
static int replay_many_pages(uint32_t pages)
{
        unsigned char bytes[LOG_ENTRY_HEADER + PAGE] = { 0 };
        struct log_record record = { .kind = LOG_COMMIT, .payload_len = sizeof(bytes) };

        for (uint32_t page = 0; page < pages; page++) {
                record.position = 4096 + 8192 * (uint64_t)page;
                record.sequence = BASE + 1 + page;
                log_entry_encode(bytes, (uint64_t)page * 77, LOG_IMAGE, PAGE);
                memcpy(bytes + LOG_ENTRY_HEADER, &page, sizeof(page));
                int err = replay_record(replay, &record, bytes);

                if (err)
                        return err;
        }
        return 0;
}

/* The table and the slabs grow, and everything is found again. */
static void test_many_pages(void **state)
{
        enum { MANY = 20000 };

        (void)state;
        assert_int_equal(replay_many_pages(MANY), 0);
        assert_int_equal(replay_finish(replay), MANY);
        for (uint32_t page = 0; page < MANY; page++) {
                struct page_image image = replay_page(replay, page);

                assert_int_equal(image.page, (uint64_t)page * 77);
                assert_int_equal(image.sequence, BASE + 1 + page);
                assert_memory_equal(image.bytes, &page, sizeof(page));
        }
}

/* Memory runs out; advice, which does not matter, is not asked for. */
static int mmap_nth, mmap_calls;

static int fail_mmap(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        if (call != SYS_MMAP && call != SYS_MREMAP)
                return 0;
        return ++mmap_calls >= mmap_nth ? -ENOMEM : 0;
}

static void test_no_memory_is_a_code(void **state)
{
        enum { MANY = 5000 };

        (void)state;
        mmap_nth = 0;
        for (bool failed = true; failed;) {
                replay_close(replay);
                replay = NULL;
                mmap_nth++;
                mmap_calls = 0;
                sys_fail = fail_mmap;
                int err = replay_open(PAGE, BASE, read_home, &home_reads, &replay);
                assert_true((replay == NULL) == (err != 0));
                if (!err)
                        err = replay_many_pages(MANY);
                sys_fail = NULL;
                failed = mmap_calls >= mmap_nth;
                assert_int_equal(err, failed ? -ENOMEM : 0);
        }
        assert_in_range(mmap_nth, 5, 100);
}

/* Pages of all lengths have buffers of their own. */
static void test_buffers_do_not_overlap(void **state)
{
        (void)state;
        for (uint32_t page_bytes = 4096; page_bytes <= 65536; page_bytes *= 2) {
                struct replay_pages pages;
                struct replay_page *page;

                assert_int_equal(replay_pages_init(&pages, page_bytes), 0);
                for (uint32_t i = 0; i < 300; i++) {
                        assert_null(replay_pages_find(&pages, i));
                        assert_int_equal(replay_pages_add(&pages, i, &page), 0);
                        memset(page->bytes, (int)i, page_bytes);
                }
                for (uint32_t i = 0; i < 300; i++) {
                        page = replay_pages_find(&pages, i);
                        assert_non_null(page);
                        assert_int_equal(page->bytes[0], i & 0xff);
                        assert_memory_equal(page->bytes, page->bytes + 1, page_bytes - 1);
                }
                replay_pages_free(&pages);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_nothing_is_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_commits_give_what_a_serial_run_gives, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_image_needs_no_home, setup, teardown),
                cmocka_unit_test_setup_teardown(test_empty_entries_and_empty_commits_count, setup, teardown),
                cmocka_unit_test_setup_teardown(test_moves_read_the_state_before_the_record, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_source_may_change_in_the_same_record, setup, teardown),
                cmocka_unit_test_setup_teardown(test_homes_of_moved_pages, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fragments_count_when_their_commit_comes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_commits_up_to_the_base_are_passed_over, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fragments_begun_before_are_passed_over, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_home_that_cannot_be_read, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many_pages, setup, teardown),
                cmocka_unit_test_setup_teardown(test_no_memory_is_a_code, setup, teardown),
                cmocka_unit_test(test_buffers_do_not_overlap),
        };

        leeway_alarm(200);
        return cmocka_run_group_tests(tests, group_setup, NULL);
}
