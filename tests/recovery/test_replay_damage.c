/* SPDX-License-Identifier: MIT */
#include "recovery/replay.h"

/* Replay refuses what makes no sense without touching memory that is not its own. */

#include "tests/recovery/replay_stand.h"
#include "tests/support/leeway.h"

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
        struct log_record record = { .kind = LOG_FRAGMENT, .position = 8192, .sequence = 1, .transaction = 8192 };
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

/* ---- What somebody chooses ---- */

static uint64_t pages_asked_for;

/* There are pages below number 1,000 in file 0. */
static int need(void *arg, uint64_t page)
{
        assert_ptr_equal(arg, &home_reads);
        pages_asked_for++;
        return page < 1000 ? 0 : XAC_CORRUPT;
}

static int mappings;

static int count_mappings(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        mappings += call == SYS_MMAP || call == SYS_MREMAP;
        return 0;
}

/* They are told at once, and take no memory. */
static void test_pages_that_are_nowhere(void **state)
{
        static const enum log_entry_kind kinds[] = { LOG_CLEARED, LOG_IMAGE };

        (void)state;
        for (int kind = 0; kind < 2; kind++) {
                setup(NULL);
                replay_ask(replay, need);
                pages_asked_for = 0;
                log_entry_encode(payload.bytes, 999, LOG_CLEARED, 0);
                log_entry_encode(payload.bytes + 16, 999, LOG_CLEARED, 0);
                payload.len = 32;
                put_commit(0);
                assert_int_equal(pages_asked_for, 1);
                for (uint64_t page = 0; page < 30; page++) {
                        log_entry_encode(payload.bytes + payload.len, 1000 + page, kinds[kind], kind ? PAGE : 0);
                        payload.len += LOG_ENTRY_HEADER + (kind ? PAGE : 0);
                }
                mappings = 0;
                sys_fail = count_mappings;
                sequence++;
                assert_corrupt(LOG_COMMIT, 0);
                sys_fail = NULL;
                assert_int_equal(mappings, 0);
                assert_int_equal(pages_asked_for, 2);
                assert_int_equal(replay_finish(replay), 1);
                teardown(NULL);
        }
}

enum { MANY = 200000, ENOUGH_MS = 1500 }; /* where one after the other would take minutes */

/* Attempts that begin so far apart that they were found in one list. */
static void test_many_attempts(void **state)
{
        struct log_record record = { .kind = LOG_FRAGMENT };
        const uint64_t begin_ns = sys_monotonic_ns();

        (void)state;
        for (uint64_t i = 1; i <= MANY; i++) {
                record.position = record.transaction = i << 20;
                assert_int_equal(replay_record(replay, &record, payload.bytes), 0);
        }
        record.kind = LOG_COMMIT;
        for (uint64_t i = 1; i <= MANY; i++) {
                record.position += 8;
                record.transaction = i << 20;
                record.sequence = BASE + i;
                assert_int_equal(replay_record(replay, &record, payload.bytes), 0);
        }
        assert_int_equal(replay_commits(replay), MANY);
        assert_true(sys_monotonic_ns() - begin_ns < leeway_ms(ENOUGH_MS) * 1000000);
}

/* The number by which 0x9e3779b97f4a7c15 becomes 1, modulo 2^64. */
static uint64_t inverse(void)
{
        uint64_t x = 1;

        for (int i = 0; i < 6; i++) /* Newton: each step doubles the bits that are right */
                x *= 2 - UINT64_C(0x9e3779b97f4a7c15) * x;
        return x;
}

/* Pages that the usual multiplier brings to one place. */
static void test_pages_that_would_meet(void **state)
{
        enum { SMALL_PAGE = 64 };
        struct log_record record = { .kind = LOG_COMMIT, .payload_len = LOG_ENTRY_HEADER, .position = 4096 };
        const uint64_t step = inverse(), begin_ns = sys_monotonic_ns();

        (void)state;
        assert_true(step * UINT64_C(0x9e3779b97f4a7c15) == 1);
        replay_close(replay);
        assert_int_equal(replay_open(SMALL_PAGE, BASE, read_home, &home_reads, &replay), 0);
        for (uint64_t i = 1; i <= MANY; i++) {
                record.position += 8;
                record.sequence = BASE + i;
                log_entry_encode(payload.bytes, i * step, LOG_CLEARED, 0);
                assert_int_equal(replay_record(replay, &record, payload.bytes), 0);
        }
        assert_int_equal(replay_finish(replay), MANY);
        assert_true(sys_monotonic_ns() - begin_ns < leeway_ms(ENOUGH_MS) * 1000000);
}

/* Any bytes: the result is a code, and no memory but its own is touched (ASan looks on). */
static void test_any_bytes_may_be_given(void **state)
{
        enum { ROUNDS = 20000 };
        static const uint32_t kinds[] = { LOG_COMMIT, LOG_FRAGMENT, LOG_MERGED };
        int accepted = 0;

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                position += 8;
                struct log_record record = {
                        .position = position,
                        .kind = kinds[chance_below(&chance, 3)],
                        .sequence = chance_percent(&chance, 80) ? replay_sequence(replay) + 1 : 12345,
                        .transaction = chance_percent(&chance, 50) ? 0 : position - 8 * chance_below(&chance, 10),
                        .payload_len = (uint32_t)chance_below(&chance, 300),
                };
                unsigned char *bytes = malloc(record.payload_len + 1);
                uint32_t first = record.kind == LOG_MERGED ? LOG_MERGED_HEADER : 0;

                if (record.kind == LOG_FRAGMENT)
                        record.sequence = 0;
                for (uint32_t i = 0; i < record.payload_len; i++)
                        bytes[i] = (unsigned char)chance_next(&chance);
                if (record.kind == LOG_MERGED && record.payload_len >= first && chance_percent(&chance, 80))
                        log_merged_encode(bytes, replay_sequence(replay));
                for (uint32_t at = first; at + 24 <= record.payload_len; at += 24) {
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_commits_must_follow_one_another, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_commit_without_its_fragments, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fragments_that_make_no_sense, setup, teardown),
                cmocka_unit_test_setup_teardown(test_malformed_entries, setup, teardown),
                cmocka_unit_test(test_pages_that_are_nowhere),
                cmocka_unit_test_setup_teardown(test_many_attempts, setup, teardown),
                cmocka_unit_test_setup_teardown(test_pages_that_would_meet, setup, teardown),
                cmocka_unit_test_setup_teardown(test_any_bytes_may_be_given, setup, teardown),
        };

        leeway_alarm(200);
        return cmocka_run_group_tests(tests, group_setup, NULL);
}
