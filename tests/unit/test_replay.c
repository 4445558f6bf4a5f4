/* SPDX-License-Identifier: MIT */
#include "recovery/replay.h"

/*
 * Replay gives the pages that a plain serial run gives, whatever the order of fragments, and
 * refuses what makes no sense without touching memory that is not its own.
 */

#include "tests/unit/scratch.h"

#include <stdbool.h>

#include <xac/xac.h>

#include "recovery/diff.h"
#include "recovery/replay_pages.h"
#include "tests/support/chance.h"

enum { PAGE = 4096, PAGES = 64, BASE = 100, PAYLOAD_MAX = 1 << 18 };

static struct chance chance;

static int group_setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        return 0;
}

/* ---- The serial model, and a log of it ---- */

/* What each page is now, and was at the base. */
static unsigned char now[PAGES][PAGE], home[PAGES][PAGE];
static uint64_t sequence_of[PAGES]; /* of the newest commit to each page; 0: untouched */
static struct replay *replay;
static uint64_t position, sequence;
static int home_reads, home_error;

struct payload {
        unsigned char bytes[PAYLOAD_MAX];
        uint32_t len;
};

static struct payload payload;

/* Names far apart, in an order that is not that of the numbers. */
static uint64_t page_name(uint32_t page_no)
{
        return (uint64_t)(page_no % 3) << 28 | (PAGES - page_no) * 1000;
}

static uint32_t page_number(uint64_t name)
{
        return PAGES - (uint32_t)(name & 0xfffffff) / 1000;
}

static int read_home(void *arg, uint64_t page, void *bytes)
{
        assert_ptr_equal(arg, &home_reads);
        home_reads++;
        memcpy(bytes, home[page_number(page)], PAGE);
        return home_error;
}

static int setup(void **state)
{
        (void)state;
        sys_fail = NULL;
        for (uint32_t page = 0; page < PAGES; page++) {
                for (uint32_t i = 0; i < PAGE; i++)
                        home[page][i] = (unsigned char)chance_next(&chance);
                sequence_of[page] = 0;
        }
        memcpy(now, home, sizeof(now));
        position = 4096;
        sequence = BASE;
        home_reads = home_error = 0;
        payload.len = 0;
        assert_int_equal(replay_open(PAGE, BASE, read_home, &home_reads, &replay), 0);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        sys_fail = NULL;
        replay_close(replay);
        return 0;
}

static unsigned char *entry_body(void)
{
        assert_in_range(payload.len, 0, PAYLOAD_MAX - PAGE - LOG_ENTRY_HEADER);
        return payload.bytes + payload.len + LOG_ENTRY_HEADER;
}

static void add_entry(uint32_t page_no, enum log_entry_kind kind, size_t len)
{
        log_entry_encode(payload.bytes + payload.len, page_name(page_no), kind, (uint32_t)len);
        payload.len += LOG_ENTRY_HEADER + (uint32_t)len;
}

static void add_image(uint32_t page_no, const unsigned char *page)
{
        memcpy(entry_body(), page, PAGE);
        add_entry(page_no, LOG_IMAGE, PAGE);
}

/* Enters the difference between two contents of a page into the payload. */
static void add_changes(uint32_t page_no, const unsigned char *old, const unsigned char *new)
{
        size_t len = diff_build(old, new, PAGE, entry_body(), PAGE);

        if (len <= PAGE)
                add_entry(page_no, LOG_CHANGES, len);
        else
                add_image(page_no, new);
}

/* Changes some bytes of a page, or moves some, and enters it. */
static void change_page(unsigned char pages[PAGES][PAGE], uint32_t page_no)
{
        unsigned char before[PAGE];
        unsigned char *page = pages[page_no];
        uint32_t at = (uint32_t)chance_below(&chance, PAGE - 64);

        memcpy(before, page, PAGE);
        if (chance_percent(&chance, 40))
                memmove(page + at + 16, page + at, chance_below(&chance, PAGE - at - 16));
        for (int i = 0; i < 16; i++)
                page[at + (uint32_t)i] = (unsigned char)chance_next(&chance);
        if (chance_percent(&chance, 5))
                add_image(page_no, page);
        else
                add_changes(page_no, before, page);
}

/* The page becomes what `base` is, which another page was before the record (or zeros), with a few other bytes. */
static void add_move(uint32_t to, enum log_entry_kind kind, uint32_t from, const unsigned char *base)
{
        size_t head = kind == LOG_MOVED ? LOG_ENTRY_FROM : 0;

        memcpy(now[to], base, PAGE);
        for (uint64_t i = chance_below(&chance, 3); i > 0; i--)
                now[to][chance_below(&chance, PAGE)] ^= 0x11;
        if (kind == LOG_MOVED)
                log_entry_encode_from(entry_body(), page_name(from));
        add_entry(to, kind, head + diff_build(base, now[to], PAGE, entry_body() + head, PAGE));
        sequence_of[to] = sequence + 1;
}

/* A record that carries the payload so far, which is empty afterwards. */
static int put_record(uint32_t kind, uint64_t transaction, uint64_t *at)
{
        struct log_record record = {
            .position = position,
            .kind = kind,
            .sequence = kind == LOG_COMMIT ? sequence : 0,
            .transaction = transaction == UINT64_MAX ? position : transaction,
            .payload_len = payload.len,
        };
        unsigned char *copy = malloc(payload.len + 1); /* of its own: the reader's bytes do not last */

        assert_non_null(copy);
        memcpy(copy, payload.bytes, payload.len);
        if (at)
                *at = position;
        int err = replay_record(replay, &record, copy);
        memset(copy, 0xee, payload.len);
        free(copy);
        position += log_record_len(payload.len);
        payload.len = 0;
        return err;
}

/* The transaction so far becomes commit number `sequence` + 1. */
static void put_commit(uint64_t transaction)
{
        sequence++;
        assert_int_equal(put_record(LOG_COMMIT, transaction, NULL), 0);
}

/* The transaction so far becomes one more fragment; *transaction is 0 before the first. */
static void put_fragment(uint64_t *transaction)
{
        if (*transaction == 0)
                assert_int_equal(put_record(LOG_FRAGMENT, UINT64_MAX, transaction), 0);
        else
                assert_int_equal(put_record(LOG_FRAGMENT, *transaction, NULL), 0);
}

static void assert_same_as_model(void)
{
        uint64_t last = 0;
        uint64_t count = replay_finish(replay);
        uint64_t expected = 0;

        for (uint64_t i = 0; i < count; i++) {
                struct page_image image = replay_page(replay, i);
                uint32_t page_no = page_number(image.page);

                assert_true(i == 0 || image.page > last);
                last = image.page;
                assert_int_equal(image.page, page_name(page_no));
                assert_int_equal(image.sequence, sequence_of[page_no]);
                assert_memory_equal(image.bytes, now[page_no], PAGE);
        }
        for (uint32_t page = 0; page < PAGES; page++)
                expected += sequence_of[page] != 0;
        assert_int_equal(count, expected);
        assert_int_equal(replay_sequence(replay), sequence);
        assert_int_equal(replay_commits(replay), sequence - BASE);
}

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
        uint64_t transaction[WRITERS] = {0};
        bool has_written[PAGES] = {false};

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

/* ---- What makes no sense ---- */

static void assert_corrupt(uint32_t kind, uint64_t transaction)
{
        assert_int_equal(put_record(kind, transaction, NULL), XAC_CORRUPT);
}

static void test_commits_must_follow_one_another(void **state)
{
        (void)state;
        sequence = BASE + 2;
        assert_corrupt(LOG_COMMIT, 0);
        sequence = 0;
        assert_corrupt(LOG_COMMIT, 0);
        sequence = BASE - 10;
        put_commit(0);
        assert_corrupt(LOG_COMMIT, 0); /* the same again */
        sequence++;
        sequence++;
        assert_corrupt(LOG_COMMIT, 0);
        sequence--;
        assert_int_equal(put_record(LOG_COMMIT, 0, NULL), 0);
        assert_int_equal(replay_sequence(replay), BASE);
}

static void test_a_commit_without_its_fragments(void **state)
{
        uint64_t transaction;

        (void)state;
        position = 81920;
        assert_int_equal(put_record(LOG_FRAGMENT, UINT64_MAX, &transaction), 0);
        sequence++;
        assert_corrupt(LOG_COMMIT, 4096);
        assert_corrupt(LOG_COMMIT, UINT64_MAX); /* its own position */
        assert_corrupt(LOG_COMMIT, position + 4096);
        assert_int_equal(put_record(LOG_COMMIT, transaction, NULL), 0);
        sequence++;
        assert_corrupt(LOG_COMMIT, transaction); /* they are used up */
}

static void test_fragments_that_make_no_sense(void **state)
{
        struct log_record record = {
            .kind = LOG_FRAGMENT, .position = 8192, .sequence = 1, .transaction = 8192};
        uint64_t transaction;

        (void)state;
        assert_int_equal(replay_record(replay, &record, payload.bytes), XAC_CORRUPT);
        position = 8200;
        assert_int_equal(put_record(LOG_FRAGMENT, UINT64_MAX, &transaction), 0);
        position = transaction;
        assert_corrupt(LOG_FRAGMENT, UINT64_MAX); /* the same again */
        position = 81920;
        assert_corrupt(LOG_FRAGMENT, 0);
        assert_corrupt(LOG_FRAGMENT, position + 4096);
        assert_corrupt(LOG_FRAGMENT, transaction + 8); /* its first should have come */
        assert_corrupt(LOG_PAD, 0);
        assert_corrupt(0, 0);
        assert_corrupt(77, 0);
}

static void test_malformed_entries(void **state)
{
        (void)state;
        sequence++;
        payload.len = 8;
        assert_corrupt(LOG_COMMIT, 0);
        log_entry_encode(payload.bytes, page_name(1), LOG_CHANGES, 64);
        payload.len = LOG_ENTRY_HEADER + 56;
        sequence++;
        assert_corrupt(LOG_COMMIT, 0);
        log_entry_encode(payload.bytes, page_name(1), LOG_CHANGES, 8);
        memset(payload.bytes + LOG_ENTRY_HEADER, 0xff, 8); /* no such change */
        payload.len = LOG_ENTRY_HEADER + 8;
        sequence++;
        assert_corrupt(LOG_COMMIT, 0);
        assert_int_equal(replay_sequence(replay), BASE);
        assert_int_equal(replay_commits(replay), 0);
}

/* Any bytes: the result is a code, and no memory but its own is touched (ASan looks on). */
static void test_any_bytes_may_be_given(void **state)
{
        enum { ROUNDS = 20000 };
        int accepted = 0;

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                position += 8;
                struct log_record record = {
                    .position = position,
                    .kind = 1 + (uint32_t)chance_below(&chance, 2),
                    .sequence = chance_percent(&chance, 70) ? replay_sequence(replay) + 1 : 12345,
                    .transaction = chance_percent(&chance, 50) ? 0 : position - 8 * chance_below(&chance, 10),
                    .payload_len = (uint32_t)chance_below(&chance, 300),
                };
                unsigned char *bytes = malloc(record.payload_len + 1);

                if (record.kind == LOG_FRAGMENT)
                        record.sequence = 0;
                for (uint32_t i = 0; i < record.payload_len; i++)
                        bytes[i] = (unsigned char)chance_next(&chance);
                for (uint32_t at = 0; at + 24 <= record.payload_len; at += 24) {
                        uint32_t page_no = (uint32_t)chance_below(&chance, PAGES);

                        log_entry_encode(bytes + at, page_name(page_no), LOG_CHANGES, 8);
                        bytes[at + 16] = 2;
                        bytes[at + 17] = 0;
                        bytes[at + 19] &= 7; /* mostly within the page */
                        bytes[at + 21] &= 7;
                        bytes[at + 23] &= 15;
                }
                int err = replay_record(replay, &record, bytes);
                assert_true(err == 0 || err == XAC_CORRUPT);
                accepted += err == 0;
                free(bytes);
                if (err) { /* what it holds is undefined now: begin again */
                        replay_close(replay);
                        assert_int_equal(replay_open(PAGE, BASE, read_home, &home_reads, &replay), 0);
                }
        }
        assert_in_range(accepted, ROUNDS / 20, ROUNDS);
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
        unsigned char bytes[LOG_ENTRY_HEADER + PAGE] = {0};
        struct log_record record = {.kind = LOG_COMMIT, .payload_len = sizeof(bytes)};

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
                bool is_new;

                assert_int_equal(replay_pages_init(&pages, page_bytes), 0);
                for (uint32_t i = 0; i < 300; i++) {
                        assert_int_equal(replay_pages_take(&pages, i, &page, &is_new), 0);
                        assert_true(is_new);
                        memset(page->bytes, (int)i, page_bytes);
                }
                for (uint32_t i = 0; i < 300; i++) {
                        assert_int_equal(replay_pages_take(&pages, i, &page, &is_new), 0);
                        assert_false(is_new);
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
            cmocka_unit_test_setup_teardown(test_commits_must_follow_one_another, setup, teardown),
            cmocka_unit_test_setup_teardown(test_a_commit_without_its_fragments, setup, teardown),
            cmocka_unit_test_setup_teardown(test_fragments_that_make_no_sense, setup, teardown),
            cmocka_unit_test_setup_teardown(test_malformed_entries, setup, teardown),
            cmocka_unit_test_setup_teardown(test_any_bytes_may_be_given, setup, teardown),
            cmocka_unit_test_setup_teardown(test_a_home_that_cannot_be_read, setup, teardown),
            cmocka_unit_test_setup_teardown(test_many_pages, setup, teardown),
            cmocka_unit_test_setup_teardown(test_no_memory_is_a_code, setup, teardown),
            cmocka_unit_test(test_buffers_do_not_overlap),
        };

        alarm(200);
        return cmocka_run_group_tests(tests, group_setup, NULL);
}
