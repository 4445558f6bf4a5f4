/* SPDX-License-Identifier: MIT */
#include "recovery/log_reader.h"

/*
 * What a power cut can leave is the end of the log, and what a later record proves to have been on disk is
 * damage (R11); neither is ever taken for the other.
 */

#include "tests/recovery/hand_reader.h"
#include "tests/support/leeway.h"

#include "base/hook.h"

/* ---- Torn tails ---- */

/* Loses some sectors of [from, to): they hold zeros, or what was there before. */
static void lose_sectors(struct hand_log *log, uint64_t from, uint64_t to, unsigned percent)
{
        for (uint64_t at = from; at < to; at += LOG_SECTOR)
                if (chance_percent(&chance, percent)) {
                        unsigned char fill = (unsigned char)(chance_below(&chance, 2) * chance_next(&chance));

                        memset(hand_at(log, at), fill, LOG_SECTOR);
                }
}

/* The last group reaches the disk in any subset of its sectors. Records of 64 bytes begin at every sector and
 * every block, so that behind each hole records go on that are valid in themselves. */
static void test_a_torn_group_is_the_end(void **state)
{
        enum { ROUNDS = 300 };
        int torn = 0;

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                struct hand_log *log = hand_make(2);
                uint32_t payload_len = round % 3 ? 8 : (uint32_t)chance_below(&chance, 300);

                put_groups(log, 3, 20, payload_len);
                uint32_t before = log->records;
                uint64_t from = log->end;
                put_groups(log, 1, 200, payload_len);
                lose_sectors(log, from, log->end, (unsigned)(1 + chance_below(&chance, 99)));
                hand_store(log, directory);
                struct outcome outcome = read_all(log);
                assert_int_equal(outcome.code, 0);
                assert_in_range(outcome.records, before, log->records);
                torn += outcome.has_torn_tail;
                hand_free(log);
        }
        assert_in_range(torn, ROUNDS / 2, ROUNDS);
}

/* With nothing of the last group on disk there is no torn tail: older parts of the log are none. */
static void test_an_older_part_of_the_log_is_no_tail(void **state)
{
        struct hand_log *log = hand_make(2);

        (void)state;
        put_groups(log, 2, 30, 100);
        uint32_t records = log->records;
        uint64_t end = log->end;
        /* As left in a recycled file: records whole, of other positions. */
        memcpy(hand_at(log, end), hand_at(log, hand_begin()), end - hand_begin());
        hand_store(log, directory);
        struct outcome outcome = read_all(log);
        assert_int_equal(outcome.code, 0);
        assert_int_equal(outcome.records, records);
        assert_int_equal(outcome.end, end);
        assert_false(outcome.has_torn_tail);
        hand_free(log);
}

/* Records that an earlier recovery discarded, and those behind them, are of another incarnation. */
static void test_discarded_records_do_not_come_back(void **state)
{
        static const uint32_t others[] = { HAND_INCARNATION - 1, HAND_INCARNATION + 1 };

        (void)state;
        for (int i = 0; i < 2; i++) {
                struct hand_log *log = hand_make(2);

                put_groups(log, 2, 10, 100);
                uint32_t records = log->records;
                uint64_t end = log->end;
                log->incarnation = others[i];
                put_groups(log, 4, 10, 100);
                hand_store(log, directory);
                struct outcome outcome = read_all(log);
                assert_int_equal(outcome.code, 0);
                assert_int_equal(outcome.records, records);
                assert_int_equal(outcome.end, end);
                hand_free(log);
        }
}

/* ---- Damage ---- */

/* A durable group lost its end; the proof stands only in one record of the group behind it, or in its pad. */
static void test_one_proof_is_enough(void **state)
{
        enum { COUNT = 100 };

        (void)state;
        for (int proof = 0; proof <= COUNT + 1; proof++) {
                struct hand_log *log = hand_make(2);
                uint64_t durable = log->end;

                put_groups(log, 1, 10, 100);
                uint64_t bad = log->position[7];
                for (int i = 0; i <= COUNT; i++) {
                        log->durable = i == proof ? log->end : durable;
                        if (i == proof)
                                log->durable = bad + 8;
                        if (i < COUNT)
                                hand_commit(log, 40);
                        else
                                hand_close_group(log);
                }
                hand_at(log, bad)[0] ^= 1;
                hand_store(log, directory);
                struct outcome outcome = read_all(log);
                assert_int_equal(outcome.records, 7);
                if (proof <= COUNT)
                        assert_damaged_at(&outcome, bad);
                else
                        assert_int_equal(outcome.code, 0);
                hand_free(log);
        }
}

/* Everything *before* `durable` was on disk: a record that names just the bad place proves nothing. */
static void test_durable_up_to_the_bad_place_is_no_proof(void **state)
{
        (void)state;
        for (int beyond = 0; beyond < 2; beyond++) {
                struct hand_log *log = hand_make(1);

                hand_commit(log, 100);
                hand_close_group(log);
                uint64_t bad = log->end;
                hand_commit(log, 100);
                hand_close_group(log);
                log->durable = bad + 8 * (uint64_t)beyond;
                hand_commit(log, 100);
                hand_close_group(log);
                memset(hand_at(log, bad), 0, LOG_BLOCK);
                hand_store(log, directory);
                struct outcome outcome = read_all(log);
                assert_int_equal(outcome.code, beyond ? XAC_CORRUPT : 0);
                assert_int_equal(outcome.records, 1);
                hand_free(log);
        }
}

/* Each byte of a small log in turn. A group before the last is proven durable by the next: lost without a
 * word may only be records of the last. Zeros behind a payload or a pad's header are not looked at. */
static void test_every_flipped_byte(void **state)
{
        struct hand_log *log = hand_make(1);
        int corrupt = 0;

        (void)state;
        put_groups(log, 3, 5, 43);
        hand_store(log, directory);
        int fd = hand_open_file(directory, hand_file_no(0), O_RDWR);
        for (uint64_t at = hand_begin(); at < log->end; at++) {
                unsigned char byte = *hand_at(log, at) ^ (unsigned char)(1 + chance_below(&chance, 255));
                off_t offset = LOG_HEADER_BYTES + (off_t)(at % HAND_SEGMENT);

                assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
                struct outcome outcome = read_all(log);
                assert_true(outcome.code == 0 || outcome.code == XAC_CORRUPT);
                if (outcome.code == 0)
                        assert_in_range(outcome.records, 10, 15);
                if (outcome.code == XAC_CORRUPT)
                        assert_in_range(at - outcome.damage.position, 0, 56 + 43 - 1);
                corrupt += outcome.code != 0;
                assert_int_equal(pwrite(fd, hand_at(log, at), 1, offset), 1);
        }
        close(fd);
        assert_int_equal(corrupt, 2 * (5 * (56 + 43) + 56));
        assert_whole(log);
        hand_free(log);
}

static void test_every_length_of_a_cut_file(void **state)
{
        struct hand_log *log = hand_make(3);

        (void)state;
        put_groups(log, 12, 20, 400);
        assert_in_range(log->end, hand_begin() + 2 * HAND_SEGMENT, hand_begin() + 3 * HAND_SEGMENT);
        for (uint32_t segment = 0; segment < 3; segment++)
                for (off_t len = 0; len < LOG_HEADER_BYTES + HAND_SEGMENT; len += len < 8192 ? 256 : 1784) {
                        hand_store(log, directory);
                        int fd = hand_open_file(directory, hand_file_no(segment), O_WRONLY);
                        assert_int_equal(ftruncate(fd, len), 0);
                        close(fd);
                        struct outcome outcome = read_all(log);
                        uint64_t left = (uint64_t)(len < LOG_HEADER_BYTES ? 0 : len - LOG_HEADER_BYTES);
                        uint64_t good = hand_begin() + (uint64_t)segment * HAND_SEGMENT + left;
                        if (segment < 2)
                                assert_int_equal(outcome.code, XAC_CORRUPT);
                        if (good > log->end)
                                good = log->end;
                        if (segment || left)
                                assert_in_range(outcome.end, good - 600, log->end);
                }
        hand_free(log);
}

/* ---- Planted bugs: they must show ---- */

#ifdef XAC_TEST_HOOKS

static uint32_t count_records(const struct hand_log *log)
{
        struct log_range range = hand_range(hand_begin());
        struct log_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        uint32_t records = 0;

        (void)log;
        assert_int_equal(log_reader_open(directory, &range, &reader), 0);
        while (log_reader_next(reader, &record, &payload) == 1)
                records++;
        log_reader_close(reader);
        return records;
}

static void test_planted_bugs_accept_what_is_no_record(void **state)
{
        struct hand_log *log = hand_make(2);

        (void)state;
        put_groups(log, 1, 10, 100);
        log->incarnation--;
        put_groups(log, 1, 10, 100);
        hand_at(log, log->position[6])[LOG_RECORD_HEADER] ^= 1;
        hand_store(log, directory);
        assert_int_equal(count_records(log), 6);
        hook_bug = HOOK_BUG_CHECKSUM_IGNORED;
        assert_int_equal(count_records(log), 10);
        hook_bug = HOOK_NO_BUG;
        hand_at(log, log->position[6])[LOG_RECORD_HEADER] ^= 1;
        hand_store(log, directory);
        assert_int_equal(count_records(log), 10);
        hook_bug = HOOK_BUG_STALE_RECORD_ACCEPTED;
        assert_int_equal(count_records(log), 20);
        hook_bug = HOOK_NO_BUG;
        hand_free(log);
}

#endif

/* ---- What somebody may have made ---- */

enum { LONG_SEGMENT = LOG_SEGMENT_MAX, LONG_SEGMENTS = 100 };

static uint64_t calls, bytes_read;

static int count_reads(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset;
        calls++;
        bytes_read += call == SYS_PREAD ? byte_len : 0;
        return 0;
}

static struct log_reader *open_long(void)
{
        struct log_range range = hand_range((uint64_t)HAND_FIRST_NO * LONG_SEGMENT);
        struct log_reader *reader;

        range.segment_bytes = LONG_SEGMENT;
        assert_int_equal(log_reader_open(directory, &range, &reader), 0);
        return reader;
}

static int read_one(struct log_reader *reader)
{
        struct log_record record;
        const unsigned char *payload;

        calls = bytes_read = 0;
        sys_fail = count_reads;
        int found = log_reader_next(reader, &record, &payload);
        sys_fail = NULL;
        return found;
}

/* A record at `position` that says it is so long. Its payload's checksum is not looked at here. */
static void put_header(int fd, uint64_t position, struct log_record record)
{
        unsigned char bytes[LOG_RECORD_HEADER];

        record.position = position;
        record.incarnation = record.incarnation ? record.incarnation : HAND_INCARNATION;
        log_record_encode(bytes, &record);
        assert_int_equal(pwrite(fd, bytes, sizeof(bytes), (off_t)(LOG_HEADER_BYTES + position % LONG_SEGMENT)),
                         sizeof(bytes));
}

/* Each second file is a header and nothing else, the others are long and a hole. What stands far behind is found. */
static void test_what_a_segment_lacks_is_one_step(void **state)
{
        const uint64_t last = HAND_FIRST_NO + LONG_SEGMENTS - 2, far = last * LONG_SEGMENT + 5 * LOG_BLOCK;
        int fd = -1;

        (void)state;
        for (uint32_t i = 0; i < LONG_SEGMENTS; i++) {
                hand_store_header(directory, 1 + i, hand_uuid, HAND_FIRST_NO + i, LONG_SEGMENT);
                fd = i % 2 ? fd : hand_open_file(directory, 1 + i, O_RDWR);
                if (i % 2 == 0) {
                        assert_int_equal(ftruncate(fd, LOG_HEADER_BYTES + LONG_SEGMENT), 0);
                        if (i + 2 < LONG_SEGMENTS)
                                close(fd);
                }
        }
        struct log_reader *reader = open_long();
        assert_int_equal(read_one(reader), 0);
        assert_true(calls < 10 * LONG_SEGMENTS && bytes_read < LONG_SEGMENT / 4);
        assert_int_equal(log_reader_has_later(reader), 0);
        log_reader_close(reader);

        put_header(fd, far, (struct log_record){ .kind = LOG_PAD, .byte_len = LOG_BLOCK, .incarnation = 9 });
        reader = open_long();
        assert_int_equal(read_one(reader), 0);
        assert_int_equal(log_reader_has_later(reader), 1);
        log_reader_close(reader);

        put_header(fd, far, (struct log_record){ .kind = LOG_PAD, .byte_len = LOG_BLOCK, .durable = far });
        reader = open_long();
        assert_int_equal(read_one(reader), XAC_CORRUPT); /* that proves that something was there */
        assert_true(calls < 10 * LONG_SEGMENTS && bytes_read < LONG_SEGMENT / 4);
        log_reader_close(reader);
        close(fd);
}

/* In each block a record seems to begin that is as long as one can be. */
static void test_records_that_overlap(void **state)
{
        enum { BLOCKS = 1024 };
        const uint64_t begin = (uint64_t)HAND_FIRST_NO * LONG_SEGMENT;
        const struct log_record record = {
                .kind = LOG_COMMIT, .sequence = 1, .payload_len = LOG_RECORD_MAX - LOG_RECORD_HEADER, .payload_crc = 1
        };
        struct log_damage damage;

        (void)state;
        hand_store_header(directory, 1, hand_uuid, HAND_FIRST_NO, LONG_SEGMENT);
        int fd = hand_open_file(directory, 1, O_RDWR);
        for (uint64_t i = 1; i < BLOCKS; i++)
                put_header(fd, begin + i * LOG_BLOCK, record);
        close(fd);
        struct log_reader *reader = open_long();
        assert_int_equal(read_one(reader), XAC_CORRUPT);
        assert_true(bytes_read < 12 * LOG_RECORD_MAX);
        log_reader_damage(reader, &damage);
        assert_int_equal(damage.position, begin);
        assert_false(damage.is_stray);
        log_reader_close(reader);
}

/* As many bytes are wrong, but each of them belongs to one record: it is the end of the log. Their payloads never came
 * to the disk, but for the first `there` bytes. */
static void expect_the_end_behind_records(size_t there)
{
        enum { RECORDS = 6 };
        const uint64_t begin = (uint64_t)HAND_FIRST_NO * LONG_SEGMENT;
        const struct log_record record = {
                .kind = LOG_COMMIT, .sequence = 1, .payload_len = LOG_RECORD_MAX - LOG_RECORD_HEADER, .payload_crc = 1
        };
        unsigned char *bytes = malloc(LOG_RECORD_MAX);

        assert_non_null(bytes);
        memset(bytes, 0x77, LOG_RECORD_MAX);
        hand_store_header(directory, 1, hand_uuid, HAND_FIRST_NO, LONG_SEGMENT);
        int fd = hand_open_file(directory, 1, O_RDWR);
        for (uint64_t i = 0; i < RECORDS; i++) {
                const uint64_t at = begin + LOG_BLOCK + i * LOG_RECORD_MAX;

                assert_int_equal(pwrite(fd, bytes, there, (off_t)(LOG_HEADER_BYTES + at % LONG_SEGMENT)), there);
                put_header(fd, at, record);
        }
        close(fd);
        free(bytes);
        struct log_reader *reader = open_long();
        assert_int_equal(read_one(reader), 0);
        log_reader_close(reader);
}

static void test_records_that_do_not_overlap(void **state)
{
        (void)state;
        expect_the_end_behind_records(LOG_RECORD_MAX);
}

static void test_records_whose_payload_is_a_hole(void **state)
{
        (void)state;
        expect_the_end_behind_records(LOG_BLOCK);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_a_torn_group_is_the_end, directory_empty),
                cmocka_unit_test_setup(test_an_older_part_of_the_log_is_no_tail, directory_empty),
                cmocka_unit_test_setup(test_discarded_records_do_not_come_back, directory_empty),
                cmocka_unit_test_setup(test_one_proof_is_enough, directory_empty),
                cmocka_unit_test_setup(test_durable_up_to_the_bad_place_is_no_proof, directory_empty),
                cmocka_unit_test_setup(test_every_flipped_byte, directory_empty),
                cmocka_unit_test_setup(test_every_length_of_a_cut_file, directory_empty),
                cmocka_unit_test_setup(test_what_a_segment_lacks_is_one_step, directory_empty),
                cmocka_unit_test_setup(test_records_that_overlap, directory_empty),
                cmocka_unit_test_setup(test_records_that_do_not_overlap, directory_empty),
                cmocka_unit_test_setup(test_records_whose_payload_is_a_hole, directory_empty),
#ifdef XAC_TEST_HOOKS
                cmocka_unit_test_setup(test_planted_bugs_accept_what_is_no_record, directory_empty),
#endif
        };

        leeway_alarm(200);
        return cmocka_run_group_tests(tests, group_setup, directory_teardown);
}
