/* SPDX-License-Identifier: MIT */
#include "recovery/log_segments.h"

/*
 * What is found at open: segment files that are needed, ready ahead, free, of no use, or wrong.
 */

#include "tests/recovery/segment_stand.h"

#include <xac/xac.h>

/* Segments 3 to 6 are in use, files of 1 and 2 are free. */
static void make_history(void)
{
        assert_int_equal(extend_to(7), 0);
        write_and_read_back(3 * SEG, 3 * SEG, true);
        log_segments_recycle(&segments, ME, 3 * SEG, 10 * SEG);
        assert_int_equal(count_files(), 6);
}

static void test_a_log_is_found_again(void **state)
{
        static char bytes[3 * SEG];

        (void)state;
        make_history();
        for (int round = 0; round < 3; round++) {
                assert_int_equal(stand_load(3 * SEG + 104, 5 * SEG + LOG_BLOCK), 0);
                assert_int_equal(low(), 3);
                assert_int_equal(limit(), 7); /* segment 6 was ready */
                assert_int_equal(free_count(), 2);
                assert_int_equal(count_files(), 6);
                assert_sound();
                assert_true(stand_read(3 * SEG, bytes, 3 * SEG));
                assert_memory_equal(bytes, page_aligned, 3 * SEG);
        }
        assert_int_equal(extend_to(10), 0);
        assert_int_equal(count_files(), 7);
        assert_sound();
}

static void test_an_end_at_a_boundary_gets_its_segment(void **state)
{
        (void)state;
        make_history();
        assert_int_equal(stand_load(4 * SEG, 7 * SEG), 0);
        assert_int_equal(low(), 4);
        assert_int_equal(limit(), 8);
        assert_int_equal(free_count(), 2); /* of three, one was used */
        assert_sound();
}

static void test_a_clean_log_needs_no_file(void **state)
{
        (void)state;
        scratch_empty(directory);
        assert_int_equal(stand_load(5 * SEG + LOG_BLOCK, 5 * SEG + LOG_BLOCK), 0);
        assert_int_equal(low(), 5);
        assert_int_equal(limit(), 6);
        assert_sound();
}

static void test_what_is_of_no_use_is_removed(void **state)
{
        (void)state;
        make_history();
        close(openat(directory, "xac.log.20", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* never filled */
        write_header("xac.log.21", 9, SEG, stand_uuid[0]);                            /* behind a gap */
        write_header("xac.log.22", UINT64_MAX, SEG, stand_uuid[0]);
        write_header("xac.log.23", 2, SEG, stand_uuid[0]);
        int fd = openat(directory, "xac.log.23", O_WRONLY | O_CLOEXEC); /* cut short */
        assert_int_equal(ftruncate(fd, FILE_BYTES - 1), 0);
        close(fd);
        close(openat(directory, "xac.log.024", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));       /* not ours */
        close(openat(directory, "xac.log-new.5.2.1", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* log_fence.h */
        assert_int_equal(stand_load(3 * SEG, 4 * SEG), 0);
        assert_int_equal(limit(), 7);
        assert_int_equal(count_files(), 7);
        assert_true(file_size("xac.log.024") == 0);
        assert_int_equal(faccessat(directory, "xac.log-new.5.2.1", F_OK, 0), -1);
        assert_true(atomic_load(&stand_table()->next_file_no) > 23);
        assert_sound();
}

static void expect_refusal(uint64_t from, uint64_t to, int expected)
{
        int files = count_files();

        assert_int_equal(stand_load(from, to), expected);
        assert_int_equal(count_files(), files);
}

static void test_damage_is_refused_and_nothing_removed(void **state)
{
        char name[LOG_NAME_BYTES];

        (void)state;
        make_history();
        log_file_name(name, file_of(4));
        write_header("xac.log.9", 4, SEG, stand_uuid[0]); /* two files, one segment */
        expect_refusal(3 * SEG, 5 * SEG, XAC_CORRUPT);
        write_header("xac.log.9", 2, SEG, stand_uuid[0] + 1); /* another environment's */
        expect_refusal(3 * SEG, 5 * SEG, XAC_CORRUPT);
        write_header("xac.log.9", 2, 2 * SEG, stand_uuid[0]); /* of another length */
        expect_refusal(3 * SEG, 5 * SEG, XAC_CORRUPT);
        assert_int_equal(unlinkat(directory, "xac.log.9", 0), 0);
        expect_refusal(3 * SEG, 7 * SEG + LOG_BLOCK, XAC_CORRUPT); /* the end is missing */
        int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
        assert_int_equal(ftruncate(fd, FILE_BYTES - 1), 0);
        close(fd);
        expect_refusal(3 * SEG, 5 * SEG, XAC_CORRUPT); /* one is cut short */
        assert_int_equal(unlinkat(directory, name, 0), 0);
        expect_refusal(3 * SEG, 5 * SEG, XAC_CORRUPT); /* one is missing */
}

/* The next file would have a number that no reader takes for one. */
static void test_numbers_of_files_do_not_run_out(void **state)
{
        (void)state;
        make_history();
        close(openat(directory, "xac.log.4294967294", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        expect_refusal(3 * SEG, 5 * SEG, XAC_CORRUPT);
        assert_int_equal(unlinkat(directory, "xac.log.4294967294", 0), 0);
        assert_int_equal(stand_load(3 * SEG, 5 * SEG), 0);
        assert_sound();
}

static void reseal(unsigned char *copy)
{
        uint32_t crc = checksum_crc32c(checksum_crc32c(0, copy, 12), copy + 16, LOG_SECTOR - 16);

        for (int i = 0; i < 4; i++)
                copy[12 + i] = (unsigned char)(crc >> (8 * i));
}

static void test_another_version_is_refused(void **state)
{
        unsigned char block[LOG_HEADER_BYTES];
        int fd = openat(directory, "xac.log.1", O_RDWR | O_CLOEXEC);

        (void)state;
        assert_int_equal(pread(fd, block, sizeof(block), 0), sizeof(block));
        block[8] = 99;
        reseal(block);
        memcpy(block + LOG_HEADER_COPY, block, LOG_SECTOR);
        assert_int_equal(pwrite(fd, block, sizeof(block), 0), sizeof(block));
        close(fd);
        expect_refusal(SEG, SEG, XAC_FORMAT);
}

static void test_load_can_be_repeated_after_any_failure(void **state)
{
        (void)state;
        for (int nth = 1;; nth++) {
                start_anew();
                make_history();
                close(openat(directory, "xac.log.20", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
                scratch_fail(nth, -EIO, nth % 2);
                int err = stand_load(4 * SEG, 7 * SEG);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        break;
                }
                assert_int_equal(err, -EIO);
                assert_int_equal(stand_load(4 * SEG, 7 * SEG), 0);
                assert_int_equal(low(), 4);
                assert_int_equal(limit(), 8);
                assert_sound();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_log_is_found_again, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_end_at_a_boundary_gets_its_segment, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_clean_log_needs_no_file, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_of_no_use_is_removed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_damage_is_refused_and_nothing_removed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_numbers_of_files_do_not_run_out, setup, teardown),
                cmocka_unit_test_setup_teardown(test_another_version_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_load_can_be_repeated_after_any_failure, setup_in_memory, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
