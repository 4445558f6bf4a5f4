/* SPDX-License-Identifier: MIT */
#include "recovery/log_segments.h"

/* Segment files while all goes well: made, written, recycled, used again. */

#include "tests/recovery/segment_stand.h"

/* ---- Making ---- */

static void test_a_new_log_has_one_segment_of_zeros(void **state)
{
        static char bytes[SEG], zeros[SEG];
        struct log_header header;
        struct stat st;

        (void)state;
        assert_int_equal(low(), 1);
        assert_int_equal(limit(), 2);
        read_header("xac.log.1", &header);
        assert_int_equal(header.segment_no, 1);
        assert_int_equal(header.segment_bytes, SEG);
        assert_memory_equal(header.uuid, stand_uuid, sizeof(stand_uuid));
        assert_int_equal(fstatat(directory, "xac.log.1", &st, 0), 0);
        assert_int_equal(st.st_size, FILE_BYTES);
        assert_true(st.st_blocks >= FILE_BYTES / 512); /* no holes */
        assert_true(stand_read(SEG, bytes, SEG));
        assert_memory_equal(bytes, zeros, SEG);
        assert_sound();
}

static bool has_space_call = true;

static int forbid_zeros(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        if (call == SYS_ALLOCATE && !has_space_call)
                return -EOPNOTSUPP;
        return has_space_call && call == SYS_PWRITE && offset + byte_len > LOG_HEADER_BYTES ? -EIO : 0;
}

/* While commits do not wait, only the header is written. Where files cannot be allocated, zeros are. */
static void test_files_in_haste_are_only_allocated(void **state)
{
        static char bytes[SEG], zeros[SEG];
        struct stat st;

        (void)state;
        atomic_store(&stand_table()->is_outrun, 1);
        sys_fail = forbid_zeros;
        for (uint64_t limit_no = 3; limit_no <= 4; limit_no++) {
                assert_int_equal(extend_to(limit_no), 0);
                has_space_call = false;
        }
        sys_fail = NULL;
        has_space_call = true;
        for (uint64_t segment_no = 2; segment_no <= 3; segment_no++) {
                assert_true(stand_read(segment_no * SEG, bytes, SEG));
                assert_memory_equal(bytes, zeros, SEG);
        }
        assert_int_equal(fstatat(directory, "xac.log.2", &st, 0), 0);
        assert_int_equal(st.st_size, FILE_BYTES);
        assert_true(st.st_blocks >= FILE_BYTES / 512); /* no holes */
        assert_sound();
        write_and_read_back(2 * SEG + LOG_BLOCK, SEG, 1);
}

static void test_mode_is_exact(void **state)
{
        mode_t before = umask(077);
        struct stat st;

        (void)state;
        segments.mode = 0664;
        assert_int_equal(extend_to(3), 0);
        umask(before);
        assert_int_equal(fstatat(directory, "xac.log.2", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0664);
}

static void test_extend_covers_what_is_wanted_and_no_more(void **state)
{
        (void)state;
        assert_int_equal(log_segments_extend(&segments, ME, 2 * SEG), 0);
        assert_int_equal(limit(), 2);
        assert_int_equal(log_segments_extend(&segments, ME, 2 * SEG + 1), 0);
        assert_int_equal(limit(), 3);
        assert_int_equal(extend_to(20), 0);
        assert_int_equal(limit(), 20);
        assert_int_equal(count_files(), 19);
        assert_int_equal(atomic_load(&stand_table()->lock.word), 0);
        assert_sound();
}

static void test_a_name_that_is_taken_is_skipped(void **state)
{
        (void)state;
        close(openat(directory, "xac.log.2", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        assert_int_equal(mkdirat(directory, "xac.log.3", 0700), 0);
        assert_int_equal(extend_to(3), 0);
        assert_int_equal(file_of(2), 4);
        assert_int_equal(file_size("xac.log.2"), 0);
        assert_int_equal(unlinkat(directory, "xac.log.3", AT_REMOVEDIR), 0);
}

static void test_the_table_can_be_full(void **state)
{
        (void)state;
        atomic_store(&stand_table()->limit, (uint64_t)(1 + LOG_SEGMENTS_MAX) * SEG); /* as if */
        assert_int_equal(extend_to(2 + LOG_SEGMENTS_MAX), -ENOSPC);
        assert_int_equal(count_files(), 1);
        stand_table_reset();
}

/* ---- Writing ---- */

static int sync_calls, fail_open_at, open_calls, fail_write_at, write_calls;

static int count_calls(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        sync_calls += call == SYS_SYNC;
        if (call == SYS_OPEN && ++open_calls == fail_open_at)
                return -EINVAL;
        return call == SYS_PWRITE && ++write_calls == fail_write_at ? -EINVAL : 0;
}

static void watch_calls(int refuse_open, int refuse_write)
{
        sync_calls = open_calls = write_calls = 0;
        fail_open_at = refuse_open;
        fail_write_at = refuse_write;
        sys_fail = count_calls;
}

static void test_bytes_go_where_their_position_says(void **state)
{
        (void)state;
        assert_int_equal(extend_to(6), 0);
        for (int is_synced = 0; is_synced < 2; is_synced++) {
                write_and_read_back(SEG, LOG_BLOCK, is_synced);
                write_and_read_back(2 * SEG - LOG_BLOCK, 2 * LOG_BLOCK, is_synced);
                write_and_read_back(2 * SEG, 4 * SEG, is_synced);
                write_and_read_back(2 * SEG + 3 * LOG_BLOCK, 3 * SEG, is_synced);
        }
        assert_sound(); /* no header was touched */
}

static void test_more_files_than_descriptors(void **state)
{
        (void)state;
        assert_int_equal(extend_to(12), 0);
        for (int round = 0; round < 3; round++)
                for (uint64_t segment_no = 1; segment_no < 12; segment_no++)
                        write_and_read_back(segment_no * SEG + LOG_BLOCK, LOG_BLOCK, round % 2);
        for (int i = 0; i < LOG_OPEN_FILES; i++)
                assert_true(segments.open[i].file_no > 0);
        assert_int_equal(log_segments_sync(&segments, SEG, 12 * SEG), 0);
}

static void test_refused_direct_writes_fall_back(void **state)
{
        (void)state;
        assert_int_equal(extend_to(3), 0);
        watch_calls(1, 0); /* at open */
        write_and_read_back(SEG, LOG_BLOCK, true);
        assert_int_equal(sync_calls, 1);
        assert_int_equal(open_calls, 2);
        write_and_read_back(SEG + LOG_BLOCK, LOG_BLOCK, true);
        assert_int_equal(open_calls, 2); /* not asked again */
        assert_int_equal(sync_calls, 2);
        log_segments_close(&segments);
        watch_calls(0, 1); /* at the first write */
        write_and_read_back(SEG, LOG_BLOCK, true);
        assert_int_equal(sync_calls, 1);
        assert_int_equal(write_calls, 2);
        write_and_read_back(SEG, LOG_BLOCK, true);
        assert_int_equal(sync_calls, 2);
        assert_int_equal(write_calls, 3);
}

static void test_a_failed_sync_is_an_io_error(void **state)
{
        (void)state;
        assert_int_equal(log_segments_write(&segments, SEG, page_aligned, LOG_BLOCK, false), 0);
        scratch_fail(1, -ENOSPC, 0);
        assert_int_equal(log_segments_sync(&segments, SEG, SEG + LOG_BLOCK), -EIO);
        assert_true(scratch_failed());
        log_segments_close(&segments);
        scratch_fail(1, -EMFILE, 0); /* the open is no sync */
        assert_int_equal(log_segments_sync(&segments, SEG, SEG + LOG_BLOCK), -EMFILE);
        assert_true(scratch_failed());
}

static void test_a_position_without_segment_is_refused(void **state)
{
        (void)state;
        assert_int_equal(log_segments_write(&segments, 2 * SEG, page_aligned, LOG_BLOCK, true), -EIO);
        assert_int_equal(log_segments_sync(&segments, 2 * SEG, 2 * SEG + 1), -EIO);
}

/* ---- Recycling ---- */

static void test_recycled_files_are_used_again(void **state)
{
        struct log_header header;

        (void)state;
        assert_int_equal(extend_to(5), 0); /* segments 1 to 4 in files 1 to 4 */
        log_segments_recycle(&segments, ME, 2 * SEG - 1, 10 * SEG);
        assert_int_equal(low(), 1);
        log_segments_recycle(&segments, ME, 3 * SEG, 10 * SEG);
        assert_int_equal(low(), 3);
        assert_int_equal(free_count(), 2);
        assert_int_equal(file_of(1), 0);
        write_and_read_back(3 * SEG, 2 * SEG, true);
        assert_int_equal(extend_to(8), 0);
        assert_int_equal(free_count(), 0);
        assert_int_equal(count_files(), 5);
        assert_int_equal(file_of(7), 5);
        read_header("xac.log.1", &header);
        assert_true(header.segment_no == 5 || header.segment_no == 6);
        write_and_read_back(5 * SEG, 3 * SEG, true);
        assert_sound();
}

static void test_recycling_keeps_as_much_as_it_is_told(void **state)
{
        (void)state;
        assert_int_equal(extend_to(9), 0);
        log_segments_recycle(&segments, ME, 7 * SEG, 3 * SEG);
        assert_int_equal(low(), 7);
        assert_int_equal(free_count(), 3);
        assert_int_equal(count_files(), 5);
        log_segments_recycle(&segments, ME, 7 * SEG, SEG - 1);
        assert_int_equal(free_count(), 0);
        assert_int_equal(count_files(), 2);
        log_segments_recycle(&segments, ME, 100 * SEG, 0); /* never beyond the limit */
        assert_int_equal(low(), 9);
        assert_int_equal(limit(), 9);
        assert_int_equal(count_files(), 0);
        assert_int_equal(extend_to(11), 0);
        assert_sound();
}

static void test_a_free_file_that_vanished_is_forgotten(void **state)
{
        (void)state;
        assert_int_equal(extend_to(3), 0);
        log_segments_recycle(&segments, ME, 2 * SEG, 10 * SEG);
        assert_int_equal(unlinkat(directory, "xac.log.1", 0), 0);
        assert_int_equal(extend_to(4), 0);
        assert_int_equal(file_of(3), 3);
        assert_sound();
}

/* The table goes round: entry 1 holds segment 1 + LOG_SEGMENTS_MAX later on. */
static void test_the_table_wraps(void **state)
{
        const uint64_t far = 2 * (uint64_t)LOG_SEGMENTS_MAX + 1;

        (void)state;
        scratch_empty(directory);
        assert_int_equal(stand_load((far - 2) * SEG, (far - 2) * SEG), 0);
        for (uint64_t segment_no = far - 1; segment_no < far + 4; segment_no++) {
                assert_int_equal(extend_to(segment_no + 1), 0);
                log_segments_recycle(&segments, ME, (segment_no - 1) * SEG, 2 * SEG);
                write_and_read_back(segment_no * SEG, SEG, true);
        }
        assert_int_equal(count_files(), 3);
        assert_sound();
}

static int fail_unlinks(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_UNLINK ? -EIO : 0;
}

/* The one in use, the next one, and a free file stay. */
static void test_at_rest_few_files_stay(void **state)
{
        struct stat st;

        (void)state;
        assert_int_equal(extend_to(12), 0);
        assert_int_equal(log_segments_cut(&segments, ME, 5 * SEG + 100), 0);
        assert_int_equal(low(), 5);
        assert_int_equal(limit(), 7);
        assert_int_equal(count_files(), 3);
        assert_int_equal(fstatat(directory, "xac.log.11", &st, 0), -1);
        assert_int_equal(log_segments_cut(&segments, ME, 5 * SEG + 100), 0);
        assert_int_equal(count_files(), 3);
        write_and_read_back(5 * SEG, SEG, 5); /* the log goes on */
        assert_int_equal(extend_to(9), 0);
        assert_int_equal(limit(), 9);
        assert_sound();
}

/* What could not be removed does not stand beside another file of its number, whoever goes on. */
static void test_at_rest_no_number_is_taken_twice(void **state)
{
        (void)state;
        assert_int_equal(extend_to(12), 0);
        sys_fail = fail_unlinks;
        assert_int_equal(log_segments_cut(&segments, ME, 5 * SEG + 100), -EIO);
        sys_fail = NULL;
        assert_int_equal(limit(), 11);
        assert_int_equal(extend_to(14), 0);
        assert_sound();
}

/* What an archive does not have yet. */
static void test_at_rest_what_is_held_stays(void **state)
{
        (void)state;
        assert_int_equal(extend_to(9), 0);
        atomic_store(&stand_table()->held, 3 * SEG);
        assert_int_equal(log_segments_cut(&segments, ME, 7 * SEG + 100), 0);
        assert_int_equal(low(), 3);
        assert_int_equal(limit(), 9);
        assert_sound();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_new_log_has_one_segment_of_zeros, setup, teardown),
                cmocka_unit_test_setup_teardown(test_files_in_haste_are_only_allocated, setup, teardown),
                cmocka_unit_test_setup_teardown(test_mode_is_exact, setup, teardown),
                cmocka_unit_test_setup_teardown(test_extend_covers_what_is_wanted_and_no_more, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_name_that_is_taken_is_skipped, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_table_can_be_full, setup, teardown),
                cmocka_unit_test_setup_teardown(test_bytes_go_where_their_position_says, setup, teardown),
                cmocka_unit_test_setup_teardown(test_more_files_than_descriptors, setup, teardown),
                cmocka_unit_test_setup_teardown(test_refused_direct_writes_fall_back, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failed_sync_is_an_io_error, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_position_without_segment_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_recycled_files_are_used_again, setup, teardown),
                cmocka_unit_test_setup_teardown(test_at_rest_few_files_stay, setup, teardown),
                cmocka_unit_test_setup_teardown(test_at_rest_what_is_held_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_at_rest_no_number_is_taken_twice, setup, teardown),
                cmocka_unit_test_setup_teardown(test_recycling_keeps_as_much_as_it_is_told, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_free_file_that_vanished_is_forgotten, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_table_wraps, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
