/* SPDX-License-Identifier: MIT */
#include "recovery/log_reader.h"

/*
 * A sound log comes back record by record, whatever the files' order and the records' lengths; files that do
 * not belong to it, and calls that fail, are told by a code. (What is damaged or torn: test_log_damage.c.)
 */

#include "tests/recovery/hand_reader.h"
#include "tests/support/leeway.h"

#include "recovery/log_files.h"

/* ---- A sound log ---- */

static void test_an_empty_log_ends_at_once(void **state)
{
        struct hand_log *log = hand_make(2);

        (void)state;
        hand_store(log, directory);
        assert_whole(log);
        hand_free(log);
}

static void test_records_of_all_lengths_come_back(void **state)
{
        struct hand_log *log = hand_make(40);

        (void)state;
        for (int i = 0; i < 1500; i++) {
                hand_commit(log, (uint32_t)chance_below(&chance, i % 50 ? 200 : 30000));
                if (chance_percent(&chance, 20))
                        hand_close_group(log);
                log->durable = log->end;
        }
        hand_store(log, directory);
        assert_whole(log);
        hand_free(log);
}

/* Also those that are longer than a window, and than a segment. */
static void test_the_longest_records_come_back(void **state)
{
        static const uint32_t lengths[] = {
                1, LOG_RECORD_MAX - LOG_RECORD_HEADER, 100, 1 << 18, (1 << 18) - 64, 3 << 20, 1 << 20, HAND_SEGMENT, 0
        };
        struct hand_log *log = hand_make(160);

        (void)state;
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
                hand_commit(log, lengths[i]);
                if (i % 3 == 2)
                        hand_close_group(log);
        }
        hand_store(log, directory);
        assert_whole(log);
        hand_free(log);
}

static void test_reading_begins_at_any_record(void **state)
{
        struct hand_log *log = hand_make(3);

        (void)state;
        put_groups(log, 12, 9, 500);
        hand_store(log, directory);
        for (uint32_t first = 0; first < log->records; first++) {
                struct outcome outcome = read_from(log, first, log->position[first]);

                assert_int_equal(outcome.code, 0);
                assert_int_equal(outcome.records, log->records - first);
        }
        struct outcome at_end = read_from(log, log->records, log->end);
        assert_int_equal(at_end.code, 0);
        assert_int_equal(at_end.records, 0);
        hand_free(log);
}

static void test_a_log_that_fills_its_files(void **state)
{
        struct hand_log *log = hand_make(1);

        (void)state;
        while (log_group_end(log->end + log_record_len(1000)) <= hand_begin() + HAND_SEGMENT)
                hand_commit(log, 1000);
        hand_close_group(log);
        assert_int_equal(log->end, hand_begin() + HAND_SEGMENT);
        hand_store(log, directory);
        assert_whole(log);
        hand_free(log);
}

/* A look ahead shows the first entry of each kind of record, and ends where it would not fit. */
static void test_a_glance_shows_first_entries(void **state)
{
        struct hand_log *log = hand_make(2);
        struct log_range range = hand_range(hand_begin());
        unsigned char payload[LOG_MERGED_HEADER + LOG_ENTRY_HEADER + LOG_CHANGE_HEADER] = { 0 };
        struct log_record record = { .kind = LOG_COMMIT, .sequence = 2 };
        struct log_reader *reader;
        const unsigned char *found;
        uint32_t at;

        (void)state;
        hand_put(log, record, payload);
        log_entry_encode(payload, 11, LOG_CHANGES, LOG_CHANGE_HEADER);
        record.payload_len = sizeof(payload) - LOG_MERGED_HEADER;
        hand_put(log, record, payload);
        log_merged_encode(payload, 2);
        log_entry_encode(payload + LOG_MERGED_HEADER, 12, LOG_CHANGES, LOG_CHANGE_HEADER);
        record = (struct log_record){ .kind = LOG_MERGED, .sequence = 9, .payload_len = sizeof(payload) };
        hand_put(log, record, payload);
        record.payload_len -= 8; /* no room for a change */
        hand_put(log, record, payload);
        hand_store(log, directory);

        assert_int_equal(log_reader_open(directory, &range, &reader), 0);
        assert_int_equal(log_reader_next(reader, &record, &found), 1);
        uint64_t position = log_reader_end(reader);
        for (uint64_t page = 11; page <= 12; page++) {
                found = log_reader_glance(reader, &position);
                assert_non_null(found);
                assert_int_equal(log_entry_claimed_page(found, &at), page);
        }
        assert_int_equal(position, log->position[3]);
        assert_null(log_reader_glance(reader, &position));
        assert_int_equal(position, log->position[3]);
        log_reader_close(reader);
        hand_free(log);
}

static void test_segments_are_listed(void **state)
{
        struct hand_log *log = hand_make(4);
        struct log_range range = hand_range(hand_begin());
        struct log_reader *reader;
        uint32_t file_no = 0;
        uint64_t segment_no = 0;

        (void)state;
        hand_store(log, directory);
        hand_store_header(directory, 50, hand_uuid, 2, HAND_SEGMENT); /* of an older part */
        assert_int_equal(log_reader_open(directory, &range, &reader), 0);
        assert_int_equal(log_reader_limit(reader), hand_begin() + 4 * HAND_SEGMENT);
        assert_int_equal(log_reader_segment(reader, 0, &file_no, &segment_no), 5);
        assert_int_equal(file_no, 50);
        assert_int_equal(segment_no, 2);
        for (uint32_t i = 0; i < 4; i++) {
                log_reader_segment(reader, 1 + i, &file_no, &segment_no);
                assert_int_equal(file_no, hand_file_no(i));
                assert_int_equal(segment_no, HAND_FIRST_NO + i);
        }
        log_reader_segment(reader, 5, &file_no, &segment_no);
        assert_int_equal(segment_no, HAND_FIRST_NO + 3); /* unchanged: there is none */
        log_reader_close(reader);
        log_reader_close(NULL);
        hand_free(log);
}

/* ---- Files ---- */

static void remove_file(uint32_t file_no)
{
        char name[LOG_NAME_BYTES];

        log_file_name(name, file_no);
        assert_int_equal(unlinkat(directory, name, 0), 0);
}

static void test_a_missing_segment(void **state)
{
        struct hand_log *log = hand_make(5);

        (void)state;
        put_groups(log, 20, 20, 500);
        assert_in_range(log->end, hand_begin() + 3 * HAND_SEGMENT, hand_begin() + 4 * HAND_SEGMENT);
        for (uint32_t segment = 0; segment < 5; segment++) {
                hand_store(log, directory);
                remove_file(hand_file_no(segment));
                struct outcome outcome = read_all(log);
                uint64_t begin = hand_begin() + (uint64_t)segment * HAND_SEGMENT;
                switch (segment) {
                case 0: /* already the open says it */
                        assert_int_equal(outcome.code, XAC_CORRUPT);
                        assert_int_equal(outcome.damage.file_no, UINT32_MAX);
                        assert_int_equal(outcome.damage.position, begin);
                        break;
                case 1:
                case 2: /* a record crosses into it: that one is bad */
                        assert_int_equal(outcome.code, XAC_CORRUPT);
                        assert_in_range(outcome.end, begin - 600, begin);
                        break;
                case 3: /* nothing behind it, so nothing proves it */
                        assert_int_equal(outcome.code, 0);
                        assert_in_range(outcome.end, begin - 600, begin);
                        break;
                default: /* never used */
                        assert_int_equal(outcome.code, 0);
                        assert_int_equal(outcome.records, log->records);
                        break;
                }
        }
        hand_free(log);
}

/* Reading begins in a segment that is there, and the next is missing from its first byte on. */
static void test_a_missing_segment_at_a_record_boundary(void **state)
{
        struct hand_log *log = hand_make(3);

        (void)state;
        while (log->end < hand_begin() + HAND_SEGMENT)
                put_groups(log, 1, 1, 4096 - 2 * LOG_RECORD_HEADER);
        assert_int_equal(log->end, hand_begin() + HAND_SEGMENT);
        uint32_t before = log->records;
        while (log->end < hand_begin() + 2 * HAND_SEGMENT + 4 * LOG_BLOCK)
                put_groups(log, 1, 1, 100);
        hand_store(log, directory);
        remove_file(hand_file_no(1));
        struct outcome outcome = read_all(log);
        assert_int_equal(outcome.code, XAC_CORRUPT);
        assert_int_equal(outcome.records, before);
        assert_int_equal(outcome.damage.file_no, UINT32_MAX);
        assert_int_equal(outcome.damage.position, hand_begin() + HAND_SEGMENT);
        hand_free(log);
}

static void test_foreign_files(void **state)
{
        struct hand_log *log = hand_make(2);
        uint8_t other[16] = "another........";

        (void)state;
        put_groups(log, 3, 3, 100);
        hand_store(log, directory);
        hand_store_header(directory, 9, other, HAND_FIRST_NO + 9, HAND_SEGMENT);
        struct outcome outcome = read_all(log);
        assert_int_equal(outcome.code, XAC_CORRUPT);
        assert_int_equal(outcome.damage.file_no, 9);
        hand_store_header(directory, 9, hand_uuid, HAND_FIRST_NO + 9, 2 * HAND_SEGMENT);
        outcome = read_all(log);
        assert_int_equal(outcome.code, XAC_CORRUPT);
        assert_int_equal(outcome.damage.file_no, 9);
        hand_store_header(directory, 9, hand_uuid, UINT64_MAX / HAND_SEGMENT, HAND_SEGMENT);
        assert_int_equal(read_all(log).code, XAC_CORRUPT);
        hand_store_header(directory, 9, hand_uuid, HAND_FIRST_NO + 9, HAND_SEGMENT);
        assert_whole(log);
        hand_free(log);
}

static void test_two_files_of_one_segment(void **state)
{
        struct hand_log *log = hand_make(2);

        (void)state;
        put_groups(log, 3, 3, 100);
        hand_store(log, directory);
        hand_store_header(directory, 40, hand_uuid, 3, HAND_SEGMENT);
        hand_store_header(directory, 41, hand_uuid, 3, HAND_SEGMENT);
        assert_whole(log); /* of an older part: who cares */
        hand_store_header(directory, 42, hand_uuid, HAND_FIRST_NO + 1, HAND_SEGMENT);
        struct outcome outcome = read_all(log);
        assert_int_equal(outcome.code, XAC_CORRUPT);
        assert_true(outcome.damage.file_no == 42 || outcome.damage.file_no == hand_file_no(1));
        hand_free(log);
}

static void test_another_version(void **state)
{
        struct hand_log *log = hand_make(1);
        unsigned char block[LOG_HEADER_BYTES];

        (void)state;
        hand_store(log, directory);
        int fd = hand_open_file(directory, hand_file_no(0), O_RDWR);
        assert_int_equal(pread(fd, block, sizeof(block), 0), sizeof(block));
        for (int copy = 0; copy < 2; copy++) {
                unsigned char *header = block + copy * LOG_HEADER_COPY;

                header[8] = 99;
                uint32_t crc = checksum_crc32c(checksum_crc32c(0, header, 12), header + 16, LOG_SECTOR - 16);
                for (int i = 0; i < 4; i++)
                        header[12 + i] = (unsigned char)(crc >> 8 * i);
        }
        assert_int_equal(pwrite(fd, block, sizeof(block), 0), sizeof(block));
        close(fd);
        assert_int_equal(read_all(log).code, XAC_FORMAT);
        hand_free(log);
}

static void test_either_copy_of_the_header_will_do(void **state)
{
        struct hand_log *log = hand_make(2);
        unsigned char zeros[LOG_SECTOR] = { 0 };

        (void)state;
        put_groups(log, 3, 3, 100);
        for (int copies = 1; copies <= 3; copies++) {
                hand_store(log, directory);
                int fd = hand_open_file(directory, hand_file_no(0), O_RDWR);
                for (int copy = 0; copy < 2; copy++)
                        if (copies >> copy & 1)
                                assert_int_equal(pwrite(fd, zeros, LOG_SECTOR, copy * LOG_HEADER_COPY), LOG_SECTOR);
                close(fd);
                if (copies < 3)
                        assert_whole(log);
                else
                        assert_int_equal(read_all(log).code, XAC_CORRUPT);
        }
        hand_free(log);
}

/* What others may have put beside the log is not looked at, and does not stop the reader. */
static void test_other_files_are_passed_over(void **state)
{
        static const char *const names[] = {
                "data",       "xac.log.",           "xac.log.01",
                "xac.log.x",  "xac.log.0",          "xac.log.7x",
                "xac.log.-1", "xac.log.4294967295", "xac.log.4294967296000",
        };
        struct hand_log *log = hand_make(2);

        (void)state;
        put_groups(log, 3, 3, 100);
        hand_store(log, directory);
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                int fd = openat(directory, names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

                assert_int_equal(pwrite(fd, log->bytes, 8192, 0), 8192);
                close(fd);
        }
        assert_int_equal(mkfifoat(directory, "xac.log.60", 0600), 0);
        assert_int_equal(mkdirat(directory, "xac.log.61", 0700), 0);
        close(hand_open_file(directory, 62, O_WRONLY | O_CREAT)); /* made and not yet filled */
        assert_whole(log);
        assert_int_equal(unlinkat(directory, "xac.log.61", AT_REMOVEDIR), 0);
        hand_free(log);
}

/* A file that is too short reads as zeros where it ends, and what a longer one has too much is not read. */
static void test_bytes_by_position(void **state)
{
        enum { LEN = 2 * HAND_SEGMENT, CUT = 1000 };
        struct hand_log *log = hand_make(2);
        unsigned char *bytes = malloc(LEN);
        struct log_files files;
        uint32_t culprit;
        size_t got;

        (void)state;
        memset(log->bytes, 0x11, LEN);
        hand_store(log, directory);
        int fd = hand_open_file(directory, hand_file_no(0), O_WRONLY);
        assert_int_equal(ftruncate(fd, LOG_HEADER_BYTES + HAND_SEGMENT - CUT), 0);
        close(fd);
        fd = hand_open_file(directory, hand_file_no(1), O_WRONLY);
        assert_int_equal(pwrite(fd, "xxxxxxxx", 8, LOG_HEADER_BYTES + HAND_SEGMENT), 8);
        close(fd);
        memset(log->bytes + HAND_SEGMENT - CUT, 0, CUT);
        assert_int_equal(log_files_open(&files, directory, hand_uuid, HAND_SEGMENT, HAND_FIRST_NO, &culprit), 0);
        for (size_t at = 0; at < LEN; at += 8 * (1 + chance_below(&chance, 500))) {
                memset(bytes, 0xee, LEN);
                assert_int_equal(log_files_read(&files, hand_begin() + at, bytes, LEN, &got), 0);
                assert_int_equal(got, LEN - at);
                assert_memory_equal(bytes, log->bytes + at, got);
                assert_true(at == 0 || bytes[got] == 0xee);
        }
        log_files_close(&files);
        free(bytes);
        hand_free(log);
}

static void test_ranges_that_make_no_sense(void **state)
{
        struct log_range range = hand_range(hand_begin() + 4);
        struct log_reader *reader;

        (void)state;
        assert_int_equal(log_reader_open(directory, &range, &reader), -EINVAL);
        range = hand_range(hand_begin());
        range.segment_bytes = 0;
        assert_int_equal(log_reader_open(directory, &range, &reader), -EINVAL);
        range.segment_bytes = HAND_SEGMENT + 8;
        assert_int_equal(log_reader_open(directory, &range, &reader), -EINVAL);
        assert_null(reader);
}

/* ---- Failures ---- */

/* Each call fails in turn: that is what the reader returns, and nothing is taken for the end. (Nothing depends on those
 * that look for holes, nor on the last one, which gives memory back.) */
static void test_every_failing_call_is_told(void **state)
{
        struct hand_log *log = hand_make(6);
        int nth = 0;
        int untold = 0;

        (void)state;
        put_groups(log, 20, 20, 500);
        hand_store(log, directory);
        for (bool failed = true; failed;) {
                scratch_fail(++nth, -EIO, false);
                struct outcome outcome = read_all(log);
                failed = scratch_failed();
                if (failed && outcome.code == 0) {
                        untold++;
                        assert_int_equal(outcome.records, log->records);
                } else {
                        assert_int_equal(outcome.code, failed ? -EIO : 0);
                }
        }
        assert_in_range(untold, 1, 1 + 2 * log->segments);
        assert_in_range(nth, 10, 1000);
        hand_free(log);
}

/* A read that fails may be tried again. */
static void test_reading_goes_on_after_a_failure(void **state)
{
        struct hand_log *log = hand_make(40);
        struct log_range range = hand_range(hand_begin());
        struct log_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        uint32_t records = 0;
        int failures = 0;

        (void)state;
        put_groups(log, 150, 20, 700);
        hand_store(log, directory);
        assert_int_equal(log_reader_open(directory, &range, &reader), 0);
        for (int result = 1; result;) {
                scratch_fail(1 + failures % 3, -EIO, false);
                result = log_reader_next(reader, &record, &payload);
                failures += scratch_failed();
                if (result == 1)
                        assert_is_record(log, records++, &record, payload);
                else
                        assert_true(result == 0 || result == -EIO);
                assert_in_range(failures, 0, 100000);
                if (failures > 50)
                        break;
        }
        sys_fail = NULL;
        while (log_reader_next(reader, &record, &payload) == 1)
                assert_is_record(log, records++, &record, payload);
        assert_int_equal(records, log->records);
        assert_in_range(failures, 1, 100000);
        log_reader_close(reader);
        hand_free(log);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_an_empty_log_ends_at_once, directory_empty),
                cmocka_unit_test_setup(test_records_of_all_lengths_come_back, directory_empty),
                cmocka_unit_test_setup(test_the_longest_records_come_back, directory_empty),
                cmocka_unit_test_setup(test_reading_begins_at_any_record, directory_empty),
                cmocka_unit_test_setup(test_a_log_that_fills_its_files, directory_empty),
                cmocka_unit_test_setup(test_a_glance_shows_first_entries, directory_empty),
                cmocka_unit_test_setup(test_segments_are_listed, directory_empty),
                cmocka_unit_test_setup(test_a_missing_segment, directory_empty),
                cmocka_unit_test_setup(test_a_missing_segment_at_a_record_boundary, directory_empty),
                cmocka_unit_test_setup(test_foreign_files, directory_empty),
                cmocka_unit_test_setup(test_two_files_of_one_segment, directory_empty),
                cmocka_unit_test_setup(test_another_version, directory_empty),
                cmocka_unit_test_setup(test_either_copy_of_the_header_will_do, directory_empty),
                cmocka_unit_test_setup(test_other_files_are_passed_over, directory_empty),
                cmocka_unit_test_setup(test_bytes_by_position, directory_empty),
                cmocka_unit_test_setup(test_ranges_that_make_no_sense, directory_empty),
                cmocka_unit_test_setup(test_every_failing_call_is_told, directory_empty),
                cmocka_unit_test_setup(test_reading_goes_on_after_a_failure, directory_empty),
        };

        leeway_alarm(200);
        return cmocka_run_group_tests(tests, group_setup, directory_teardown);
}
