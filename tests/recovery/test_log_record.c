/* SPDX-License-Identifier: MIT */
#include "recovery/log_record.h"

/*
 * Records and entries as bytes: exactly those of log_format.h, and nothing else is taken for one.
 */

#include "tests/base/scratch.h"

#include <xac/xac.h>

#include "base/checksum.h"
#include "recovery/bytes.h"

enum { PAGE_BYTES = 4096 };

static struct log_record sample(void)
{
        return (struct log_record){
                .position = 0x1122334455667788,
                .durable = 0x1122334455660000,
                .sequence = 0x0102030405060708,
                .transaction = 0x1122334455667000,
                .incarnation = 0xa1a2a3a4,
                .kind = LOG_COMMIT,
                .payload_crc = 0xb1b2b3b4,
                .payload_len = 0x00010203,
        };
}

/* Makes the checksum right again after a field was changed. */
static void seal(unsigned char *bytes)
{
        bytes_put_u32(bytes, checksum_crc32c(0, bytes + 4, LOG_RECORD_HEADER - 4));
}

static void test_a_header_has_the_bytes_of_the_table(void **state)
{
        static const unsigned char expected[LOG_RECORD_HEADER - 4] = {
                0x40, 0x02, 0x01, 0x00,                         /* 56 + 0x10203, rounded up */
                0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* position */
                0x00, 0x00, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* durable */
                0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* sequence */
                0x00, 0x70, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* transaction */
                0xa4, 0xa3, 0xa2, 0xa1,                         /* incarnation */
                0x01, 0x00, 0x00, 0x00,                         /* kind */
                0xb4, 0xb3, 0xb2, 0xb1,                         /* CRC of the payload */
                0x03, 0x02, 0x01, 0x00,                         /* its length */
        };
        struct log_record record = sample();
        unsigned char bytes[LOG_RECORD_HEADER];

        (void)state;
        log_record_encode(bytes, &record);
        assert_memory_equal(bytes + 4, expected, sizeof(expected));
        assert_int_equal(bytes_get_u32(bytes), checksum_crc32c(0, expected, sizeof(expected)));
        assert_true(log_record_peek_position(bytes) == record.position);
        assert_int_equal(log_record_peek_incarnation(bytes), record.incarnation);
}

/* Not memcmp: the struct has padding. */
static void assert_same(const struct log_record *actual, const struct log_record *expected)
{
        assert_int_equal(actual->position, expected->position);
        assert_int_equal(actual->durable, expected->durable);
        assert_int_equal(actual->sequence, expected->sequence);
        assert_int_equal(actual->transaction, expected->transaction);
        assert_int_equal(actual->incarnation, expected->incarnation);
        assert_int_equal(actual->kind, expected->kind);
        assert_int_equal(actual->byte_len, expected->byte_len);
        assert_int_equal(actual->payload_len, expected->payload_len);
        assert_int_equal(actual->payload_crc, expected->payload_crc);
}

static void test_what_was_encoded_is_decoded(void **state)
{
        struct log_record record = sample();
        struct log_record again;
        unsigned char bytes[LOG_RECORD_HEADER];

        (void)state;
        for (uint32_t kind = LOG_COMMIT; kind <= LOG_FRAGMENT; kind++)
                for (uint32_t payload_len = 0; payload_len < 100; payload_len++) {
                        record.kind = kind;
                        record.payload_len = payload_len;
                        record.byte_len = log_record_len(payload_len);
                        log_record_encode(bytes, &record);
                        assert_true(log_record_decode(bytes, &again));
                        assert_same(&again, &record);
                }
}

static void test_every_flipped_bit_is_seen(void **state)
{
        struct log_record record = sample();
        unsigned char bytes[LOG_RECORD_HEADER];

        (void)state;
        log_record_encode(bytes, &record);
        for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
                bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
                assert_false(log_record_decode(bytes, &record));
                bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        assert_true(log_record_decode(bytes, &record));
}

static void test_zeros_are_no_record(void **state)
{
        unsigned char bytes[LOG_RECORD_HEADER] = { 0 };
        struct log_record record;

        (void)state;
        assert_false(log_record_decode(bytes, &record));
        seal(bytes);
        assert_false(log_record_decode(bytes, &record));
}

/* Stores one 4-byte field, with a right checksum, and tells whether that is a record. */
static bool is_record_with(int at, uint32_t value)
{
        struct log_record record = sample();
        unsigned char bytes[LOG_RECORD_HEADER];

        log_record_encode(bytes, &record);
        bytes_put_u32(bytes + at, value);
        seal(bytes);
        return log_record_decode(bytes, &record);
}

static void test_fields_must_make_sense(void **state)
{
        enum { AT_BYTE_LEN = 4, AT_POSITION = 8, AT_KIND = 44, AT_PAYLOAD_LEN = 52 };

        (void)state;
        assert_true(is_record_with(AT_KIND, LOG_FRAGMENT));
        assert_false(is_record_with(AT_KIND, LOG_PAD));
        assert_false(is_record_with(AT_KIND, 0));
        assert_true(is_record_with(AT_KIND, LOG_MERGED));
        assert_false(is_record_with(AT_KIND, 5));
        assert_false(is_record_with(AT_POSITION, 0x55667784));
        assert_true(is_record_with(AT_PAYLOAD_LEN, 0x10208));
        assert_false(is_record_with(AT_PAYLOAD_LEN, 0x10209));
        assert_false(is_record_with(AT_PAYLOAD_LEN, UINT32_MAX));
        assert_false(is_record_with(AT_BYTE_LEN, 0x10248));
        assert_false(is_record_with(AT_BYTE_LEN, 8));
}

static void test_the_longest_record(void **state)
{
        struct log_record record = sample();
        unsigned char bytes[LOG_RECORD_HEADER];

        (void)state;
        record.payload_len = LOG_RECORD_MAX - LOG_RECORD_HEADER;
        log_record_encode(bytes, &record);
        assert_true(log_record_decode(bytes, &record));
        assert_int_equal(record.byte_len, LOG_RECORD_MAX);
        record.payload_len++;
        log_record_encode(bytes, &record);
        assert_false(log_record_decode(bytes, &record));
        /* Lengths that wrap. */
        record.payload_len = UINT32_MAX - LOG_RECORD_HEADER + 1;
        log_record_encode(bytes, &record);
        assert_false(log_record_decode(bytes, &record));
}

/* ---- Merged commits ---- */

static void test_merged_commits_say_after_which(void **state)
{
        static const unsigned char expected[LOG_MERGED_HEADER] = { 8, 7, 6, 5, 4, 3, 2, 1 };
        unsigned char bytes[LOG_MERGED_HEADER];
        uint64_t base = 0;

        (void)state;
        log_merged_encode(bytes, 0x0102030405060708);
        assert_memory_equal(bytes, expected, sizeof(expected));
        assert_true(log_merged_base(bytes, sizeof(bytes), &base));
        assert_int_equal(base, 0x0102030405060708);
        base = 77;
        for (size_t payload_len = 0; payload_len < LOG_MERGED_HEADER; payload_len++)
                assert_false(log_merged_base(bytes, payload_len, &base));
        assert_int_equal(base, 77);
}

static void test_merged_commits_have_room_for_their_base(void **state)
{
        struct log_record record = sample();
        unsigned char bytes[LOG_RECORD_HEADER];
        struct log_record again;

        (void)state;
        record.kind = LOG_MERGED;
        for (record.payload_len = 0; record.payload_len < 32; record.payload_len++) {
                record.byte_len = log_record_len(record.payload_len);
                log_record_encode(bytes, &record);
                assert_int_equal(log_record_decode(bytes, &again), record.payload_len >= LOG_MERGED_HEADER);
                if (record.payload_len >= LOG_MERGED_HEADER)
                        assert_same(&again, &record);
        }
        record.payload_len = LOG_RECORD_MAX - LOG_RECORD_HEADER + 1;
        log_record_encode(bytes, &record);
        assert_false(log_record_decode(bytes, &again));
}

/* A look ahead finds the first entry behind it. */
static void test_where_the_first_entry_is_said_to_be(void **state)
{
        struct log_record record = sample();
        unsigned char bytes[LOG_RECORD_HEADER];

        (void)state;
        log_record_encode(bytes, &record);
        assert_int_equal(log_record_claimed_entry(bytes), LOG_RECORD_HEADER);
        record.kind = LOG_MERGED;
        log_record_encode(bytes, &record);
        assert_int_equal(log_record_claimed_entry(bytes), LOG_RECORD_HEADER + LOG_MERGED_HEADER);
}

/* ---- Pads ---- */

/* A group's end is a multiple of LOG_BLOCK, wherever its records end, and the pad before it is a record. */
static void test_there_is_always_room_for_a_pad(void **state)
{
        (void)state;
        for (uint64_t end = 10 * LOG_BLOCK; end <= 11 * LOG_BLOCK; end += 8) {
                unsigned char bytes[LOG_RECORD_HEADER];
                struct log_record pad;
                uint64_t group_end = log_group_end(end);

                assert_int_equal(group_end % LOG_BLOCK, 0);
                assert_in_range(group_end - end, LOG_RECORD_HEADER, LOG_BLOCK + LOG_RECORD_HEADER - 8);
                log_pad_encode(bytes, end, (uint32_t)(group_end - end), 77, 5, 1234, 1230);
                assert_true(log_record_decode(bytes, &pad));
                assert_int_equal(pad.kind, LOG_PAD);
                assert_int_equal(pad.position, end);
                assert_int_equal(pad.byte_len, group_end - end);
                assert_int_equal(pad.durable, 77);
                assert_int_equal(pad.incarnation, 5);
                assert_int_equal(pad.sequence, 1234);
                assert_int_equal(pad.transaction, 1230);
                assert_int_equal(pad.payload_len + pad.payload_crc, 0);
        }
}

static void test_pads_of_other_lengths_are_none(void **state)
{
        static const uint32_t lengths[] = {
                0, 8, LOG_RECORD_HEADER - 8, LOG_RECORD_HEADER + 4, LOG_BLOCK + LOG_RECORD_HEADER, UINT32_MAX - 7
        };
        unsigned char bytes[LOG_RECORD_HEADER];
        struct log_record pad;

        (void)state;
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
                log_pad_encode(bytes, 4096, lengths[i], 0, 1, 0, 0);
                assert_false(log_record_decode(bytes, &pad));
        }
}

/* ---- Entries ---- */

static void test_entries_follow_one_another(void **state)
{
        unsigned char payload[3 * LOG_ENTRY_HEADER + 24 + PAGE_BYTES];
        struct log_entry entry;
        size_t at = 0;

        (void)state;
        memset(payload, 0x5a, sizeof(payload));
        log_entry_encode(payload, 0x0000000130000007, LOG_CHANGES, 24);
        log_entry_encode(payload + 40, UINT64_MAX, LOG_IMAGE, PAGE_BYTES);
        log_entry_encode(payload + 56 + PAGE_BYTES, 9, LOG_CHANGES, 0);
        static const unsigned char first[LOG_ENTRY_HEADER] = { 7, 0, 0, 0x30, 1, 0, 0, 0, 1, 0, 0, 0, 24 };
        assert_memory_equal(payload, first, sizeof(first));

        assert_int_equal(log_entry_next(payload, sizeof(payload), &at, PAGE_BYTES, &entry), 1);
        assert_true(entry.page == 0x130000007 && entry.kind == LOG_CHANGES && entry.byte_len == 24);
        assert_ptr_equal(entry.bytes, payload + LOG_ENTRY_HEADER);
        assert_int_equal(log_entry_next(payload, sizeof(payload), &at, PAGE_BYTES, &entry), 1);
        assert_true(entry.page == UINT64_MAX && entry.kind == LOG_IMAGE && entry.byte_len == PAGE_BYTES);
        assert_int_equal(log_entry_next(payload, sizeof(payload), &at, PAGE_BYTES, &entry), 1);
        assert_true(entry.page == 9 && entry.kind == LOG_CHANGES && entry.byte_len == 0);
        assert_int_equal(log_entry_next(payload, sizeof(payload), &at, PAGE_BYTES, &entry), 0);
}

/* The result for one entry of this kind and length in a payload of so many bytes. */
static int entry_result(uint32_t kind, uint32_t byte_len, size_t payload_len)
{
        unsigned char *payload = malloc(payload_len); /* of its own, so that ASan sees a read behind it */
        unsigned char header[LOG_ENTRY_HEADER];
        struct log_entry entry;
        size_t at = 0;

        assert_non_null(payload);
        memset(payload, 0, payload_len);
        log_entry_encode(header, 1, kind, byte_len);
        memcpy(payload, header, payload_len < sizeof(header) ? payload_len : sizeof(header));
        int result = log_entry_next(payload, payload_len, &at, PAGE_BYTES, &entry);
        free(payload);
        return result;
}

static void test_entries_that_make_no_sense(void **state)
{
        (void)state;
        assert_int_equal(entry_result(LOG_CHANGES, 8, 24), 1);
        assert_int_equal(entry_result(LOG_CHANGES, 8, 23), XAC_CORRUPT);
        assert_int_equal(entry_result(LOG_CHANGES, 16, 24), XAC_CORRUPT);
        assert_int_equal(entry_result(LOG_CHANGES, 4, 24), XAC_CORRUPT);
        assert_int_equal(entry_result(LOG_CHANGES, 0xfffffff8, 24), XAC_CORRUPT);
        assert_int_equal(entry_result(LOG_IMAGE, PAGE_BYTES, 16 + PAGE_BYTES), 1);
        assert_int_equal(entry_result(LOG_IMAGE, 8, 24), XAC_CORRUPT);
        assert_int_equal(entry_result(0, 8, 24), XAC_CORRUPT);
        assert_int_equal(entry_result(5, 8, 24), XAC_CORRUPT);
        assert_int_equal(entry_result(LOG_CLEARED, 0, 16), 1);
        assert_int_equal(entry_result(LOG_CLEARED, 8, 23), XAC_CORRUPT);
        assert_int_equal(entry_result(LOG_MOVED, 8, 24), 1);
        assert_int_equal(entry_result(LOG_MOVED, 0, 16), XAC_CORRUPT);
        assert_int_equal(entry_result(LOG_MOVED, 8, 16), XAC_CORRUPT);
        for (size_t payload_len = 1; payload_len < LOG_ENTRY_HEADER; payload_len++)
                assert_int_equal(entry_result(LOG_CHANGES, 0, payload_len), XAC_CORRUPT);
}

static int move_result(uint64_t to, uint64_t from, struct log_entry *entry)
{
        static unsigned char payload[LOG_ENTRY_HEADER + LOG_ENTRY_FROM + 16];
        size_t at = 0;

        log_entry_encode(payload, to, LOG_MOVED, LOG_ENTRY_FROM + 16);
        log_entry_encode_from(payload + LOG_ENTRY_HEADER, from);
        int result = log_entry_next(payload, sizeof(payload), &at, PAGE_BYTES, entry);
        assert_true(result != 1 || at == sizeof(payload));
        assert_true(result != 1 || entry->bytes == payload + LOG_ENTRY_HEADER + LOG_ENTRY_FROM);
        return result;
}

/* From another page of the same file. */
static void test_moved_entries_say_from_where(void **state)
{
        struct log_entry entry;

        (void)state;
        assert_int_equal(move_result(0x130000007, 0x13fffffff, &entry), 1);
        assert_true(entry.page == 0x130000007 && entry.from == 0x13fffffff);
        assert_true(entry.kind == LOG_MOVED && entry.byte_len == 16);
        assert_int_equal(move_result(7, 7, &entry), XAC_CORRUPT);
        assert_int_equal(move_result(0x130000007, 0x120000008, &entry), XAC_CORRUPT);
        assert_int_equal(move_result(0x130000007, 8, &entry), XAC_CORRUPT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_header_has_the_bytes_of_the_table),
                cmocka_unit_test(test_what_was_encoded_is_decoded),
                cmocka_unit_test(test_every_flipped_bit_is_seen),
                cmocka_unit_test(test_zeros_are_no_record),
                cmocka_unit_test(test_fields_must_make_sense),
                cmocka_unit_test(test_the_longest_record),
                cmocka_unit_test(test_merged_commits_say_after_which),
                cmocka_unit_test(test_merged_commits_have_room_for_their_base),
                cmocka_unit_test(test_where_the_first_entry_is_said_to_be),
                cmocka_unit_test(test_there_is_always_room_for_a_pad),
                cmocka_unit_test(test_pads_of_other_lengths_are_none),
                cmocka_unit_test(test_entries_follow_one_another),
                cmocka_unit_test(test_entries_that_make_no_sense),
                cmocka_unit_test(test_moved_entries_say_from_where),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
