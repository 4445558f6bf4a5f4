/* SPDX-License-Identifier: MIT */
#include "recovery/log_header.h"

/* Headers of segment files: two copies, of which one is enough; other versions; exact names. */

#include "tests/recovery/log_stand.h"

#include <xac/xac.h>

enum { SEG = STAND_SEGMENT };

static void test_header_survives_in_either_copy(void **state)
{
        unsigned char block[LOG_HEADER_BYTES];
        struct log_header header = { .uuid = { 9, 8, 7 }, .segment_no = 77, .segment_bytes = SEG };
        struct log_header again;

        (void)state;
        for (int damaged = 0; damaged < 2 * LOG_SECTOR; damaged++) {
                int at = damaged < LOG_SECTOR ? damaged : LOG_HEADER_COPY + damaged - LOG_SECTOR;

                log_header_encode(block, &header);
                block[at] ^= 0x10;
                assert_int_equal(log_header_decode(block, &again), 0);
                assert_memory_equal(&again, &header, sizeof(header));
                block[at < LOG_SECTOR ? LOG_HEADER_COPY + 40 : 40] ^= 1;
                assert_int_equal(log_header_decode(block, &again), XAC_CORRUPT);
        }
}

static void reseal(unsigned char *copy)
{
        uint32_t crc = checksum_crc32c(checksum_crc32c(0, copy, 12), copy + 16, LOG_SECTOR - 16);

        for (int i = 0; i < 4; i++)
                copy[12 + i] = (unsigned char)(crc >> (8 * i));
}

static void test_header_of_another_version_is_told_apart(void **state)
{
        unsigned char block[LOG_HEADER_BYTES];
        struct log_header header = { .segment_no = 1, .segment_bytes = SEG };

        (void)state;
        log_header_encode(block, &header);
        block[8]--; /* the one before can be read */
        reseal(block);
        memcpy(block + LOG_HEADER_COPY, block, LOG_SECTOR);
        assert_int_equal(log_header_decode(block, &header), 0);
        block[8] += 2;
        reseal(block);
        memcpy(block + LOG_HEADER_COPY, block, LOG_SECTOR);
        assert_int_equal(log_header_decode(block, &header), XAC_FORMAT);
        block[LOG_HEADER_COPY + 100] ^= 1;
        assert_int_equal(log_header_decode(block, &header), XAC_FORMAT);
        block[100] ^= 1;
        assert_int_equal(log_header_decode(block, &header), XAC_CORRUPT);
        header.segment_no = 0; /* means "none" */
        log_header_encode(block, &header);
        assert_int_equal(log_header_decode(block, &header), XAC_CORRUPT);
}

static void test_only_exact_names_are_segment_files(void **state)
{
        static const char *const others[] = {
                "xac.log.",   "xac.log.0",  "xac.log.01", "xac.log.+1",         "xac.log. 1",
                "xac.log.1x", "xac.log.-1", "xac.logs.1", "xac.log.4294967295", "xac.log.99999999999999999999",
                "data",       "xac.log",    "XAC.LOG.1",  "xac.log.1.bak"
        };
        uint32_t file_no = 0;
        char name[LOG_NAME_BYTES];

        (void)state;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
                assert_false(log_file_number(others[i], &file_no));
        assert_true(log_file_number("xac.log.12", &file_no));
        assert_int_equal(file_no, 12);
        log_file_name(name, UINT32_MAX - 1);
        assert_true(log_file_number(name, &file_no));
        assert_int_equal(file_no, UINT32_MAX - 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_header_survives_in_either_copy),
                cmocka_unit_test(test_header_of_another_version_is_told_apart),
                cmocka_unit_test(test_only_exact_names_are_segment_files),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
