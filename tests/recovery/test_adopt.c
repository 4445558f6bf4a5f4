/* SPDX-License-Identifier: MIT */
#include "recovery/adopt.h"

/*
 * A file that others have changed while the environment was closed: all of its pages get the checksums of what is
 * there, by few calls, however many they are.
 */

#include "tests/base/directory.h"

#include <stdbool.h>

#include <xac/xac.h>

enum {
        PAGE_BYTES = 4096,
        SECTORS = 100,
        PAGES = SECTORS * CHECKSUMS_SECTOR_PAGES,
        CALLS_ENOUGH = 10 * SECTORS /* where each page would take two */
};

static struct manifest manifest;

static const struct checksums_id id = { .uuid = { 1, 2, 3 }, .page_bytes = PAGE_BYTES, .mode = 0600 };

static int calls;

static int count_calls(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        calls += call == SYS_PREAD || call == SYS_PWRITE;
        return 0;
}

static int told;

static void tell(void *arg, const char *sentence)
{
        assert_null(arg);
        assert_non_null(strstr(sentence, "12700 of its 12700 pages are not what their checksums say"));
        told++;
}

static int begin(void *arg)
{
        assert_null(arg);
        return 0;
}

/* Checksums of something, beside zeros. */
static void make_files(void)
{
        static const struct checksums_note closed = { .state = CHECKSUMS_CLOSED, .size = (uint64_t)PAGES * PAGE_BYTES };
        static uint32_t values[PAGES];
        int data_fd, checksums_fd;

        for (uint32_t i = 0; i < PAGES; i++)
                values[i] = i + 1;
        assert_int_equal(sys_open(directory, "data", O_RDWR | O_CREAT, 0600, &data_fd), 0);
        assert_int_equal(sys_truncate(data_fd, (uint64_t)PAGES * PAGE_BYTES), 0);
        assert_int_equal(checksums_make(directory, &id, 0, &checksums_fd), 0);
        assert_int_equal(checksums_write(checksums_fd, 0, values, PAGES), 0);
        assert_int_equal(checksums_put_note(checksums_fd, &closed), 0);
        sys_close(checksums_fd);
        sys_close(data_fd);
}

static void test_a_file_that_differs_as_a_whole(void **state)
{
        struct recovery recovery = { .directory = directory };
        const struct adoption adoption = { .recovery = &recovery, .tell = tell, .begin = begin };
        static uint32_t values[PAGES];
        struct checksums_note note;
        int fd;

        (void)state;
        manifest = (struct manifest){
                .page_bytes = PAGE_BYTES, .mode = 0600, .file_count = 1, .file_name[0] = "data", .uuid = { 1, 2, 3 }
        };
        make_files();
        calls = told = 0;
        sys_fail = count_calls;
        assert_int_equal(adopt_run(&adoption, &manifest), 0);
        sys_fail = NULL;
        assert_true(calls < CALLS_ENOUGH);
        assert_int_equal(told, 1);
        assert_int_equal(checksums_open(directory, &id, O_RDONLY, &fd, &note), 0);
        assert_int_equal(checksums_read(fd, 0, values, PAGES, NULL), 0);
        for (uint32_t i = 0; i < PAGES; i++)
                assert_int_equal(values[i], 0);
        sys_close(fd);
}

/* The data file is opened first. */
static int refuse_to_open_once(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_OPEN && calls++ == 0 ? -EMFILE : 0;
}

/* What cannot be opened now, or by this user, is not taken for missing, and its checksums not for those of zeros. */
static void test_a_file_that_cannot_be_opened(void **state)
{
        struct recovery recovery = { .directory = directory };
        const struct adoption adoption = { .recovery = &recovery, .tell = tell, .begin = begin };
        static uint32_t values[PAGES];
        struct checksums_note note;
        int fd;

        (void)state;
        manifest = (struct manifest){
                .page_bytes = PAGE_BYTES, .mode = 0600, .file_count = 1, .file_name[0] = "data", .uuid = { 1, 2, 3 }
        };
        make_files();
        calls = told = 0;
        sys_fail = refuse_to_open_once;
        assert_int_equal(adopt_run(&adoption, &manifest), -EMFILE);
        sys_fail = NULL;
        assert_int_equal(told, 0);
        assert_int_equal(checksums_open(directory, &id, O_RDONLY, &fd, &note), 0);
        assert_int_equal(checksums_read(fd, 0, values, PAGES, NULL), 0);
        assert_int_equal(values[PAGES - 1], PAGES);
        sys_close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_a_file_that_differs_as_a_whole, directory_empty),
                cmocka_unit_test_setup(test_a_file_that_cannot_be_opened, directory_empty),
        };
        return cmocka_run_group_tests_name("adopt", tests, directory_setup, directory_teardown);
}
