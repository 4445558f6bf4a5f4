/* SPDX-License-Identifier: MIT */
#include "recovery/home_files.h"

/*
 * Pages that recovery brings home, and their checksums, where a disk has left zeros in the block of checksums that it
 * was writing. After any number of writes the power may go: then no page is known by another checksum than its own.
 */

#include "tests/base/directory.h"

#include <stdbool.h>
#include <stdlib.h>

#include <xac/xac.h>

#include "recovery/checksums.h"

enum { PAGES = 300, PAGE_BYTES = 4096, PUT_FIRST = 3, PUT_COUNT = 9, PUT_LATER = 280 };

static struct manifest manifest = {
        .page_bytes = PAGE_BYTES, .mode = 0600, .file_count = 1, .file_name[0] = "data", .uuid = { 1, 2, 3 }
};

static const struct checksums_id id = { .uuid = { 1, 2, 3 }, .page_bytes = PAGE_BYTES, .mode = 0600 };

/* ---- Failures ---- */

static int writes_left; /* -1: any number */

static int fail_write(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        if (call != SYS_PWRITE || writes_left < 0)
                return 0;
        return writes_left-- > 0 ? 0 : (writes_left = 0, -EIO);
}

/* ---- The stand ---- */

static unsigned char *page_of(uint64_t page_no, int generation)
{
        static unsigned char bytes[PAGE_BYTES];

        memset(bytes, (int)(1 + (page_no * 7 + (uint64_t)generation) % 250), sizeof(bytes));
        return bytes;
}

/* All pages are there, and the disk has harmed the checksums. */
static void make_files(void)
{
        int data_fd, checksums_fd;

        assert_int_equal(sys_open(directory, "data", O_RDWR | O_CREAT, 0600, &data_fd), 0);
        for (uint64_t i = 0; i < PAGES; i++)
                assert_int_equal(sys_write_all(data_fd, page_of(i, 0), PAGE_BYTES, i * PAGE_BYTES), 0);
        assert_int_equal(checksums_make(directory, &id, 0, &checksums_fd), 0);
        assert_int_equal(checksums_grow(checksums_fd, PAGES), 0);
        sys_close(checksums_fd);
        sys_close(data_fd);
}

static int put(struct home_files *homes, uint64_t page_no)
{
        const struct page_image image = { .page = page_no, .bytes = page_of(page_no, 1) };

        return home_files_put(homes, &image);
}

static int bring_home(void)
{
        struct findings findings = { 0 };
        struct home_files homes;
        int err = home_files_open(&homes, directory, &manifest, true, &findings);

        assert_int_equal(err, 0);
        for (uint64_t i = PUT_FIRST; !err && i < PUT_FIRST + PUT_COUNT; i++)
                err = put(&homes, i);
        if (!err)
                err = put(&homes, PUT_LATER);
        if (!err)
                err = home_files_sync(&homes);
        home_files_close(&homes);
        return err;
}

static bool is_put(uint64_t page_no)
{
        return (page_no >= PUT_FIRST && page_no < PUT_FIRST + PUT_COUNT) || page_no == PUT_LATER;
}

/* Pages that are put may be of before, as the double-write buffer has them still. */
static void expect_nothing_wrong(bool is_done)
{
        static uint32_t checksums[PAGES];
        struct checksums_note note;
        int fd;

        assert_int_equal(checksums_open(directory, &id, O_RDWR, &fd, &note), 0);
        assert_int_equal(checksums_read(fd, 0, checksums, PAGES, NULL), 0);
        for (uint64_t i = 0; i < PAGES; i++) {
                const bool is_hole = checksums_judge_sector(fd, i) == CHECKSUMS_HOLE;
                const uint32_t own = checksums_of(page_of(i, is_put(i)), PAGE_BYTES);

                if (is_done)
                        assert_int_equal(checksums[i], is_put(i) ? own : CHECKSUMS_UNKNOWN);
                else if (!is_put(i) && !is_hole)
                        assert_int_equal(checksums[i], CHECKSUMS_UNKNOWN);
        }
        sys_close(fd);
}

/* ---- Tests ---- */

static void test_what_a_harmed_block_knew_is_not_known(void **state)
{
        (void)state;
        make_files();
        assert_int_equal(bring_home(), 0);
        expect_nothing_wrong(true);
}

static void test_the_power_may_go_after_any_write(void **state)
{
        (void)state;
        for (int writes = 0;; writes++) {
                make_files();
                writes_left = writes;
                sys_fail = fail_write;
                int err = bring_home();
                sys_fail = NULL;
                writes_left = -1;
                expect_nothing_wrong(!err);
                if (!err)
                        break;
                assert_int_equal(err, -EIO);
                assert_int_equal(bring_home(), 0); /* again, as the double-write buffer is still named */
                expect_nothing_wrong(true);
        }
}

/* A block with a hole, a harmed sector and a page that has its checksum; and one that is a hole as a whole. Only what
 * is neither known nor lost changes. */
static void test_distrust_takes_all_holes(void **state)
{
        enum { WITH_CHECKSUM = 5, HARMED = CHECKSUMS_SECTOR_PAGES + 3, MANY = 2 * CHECKSUMS_BLOCK_PAGES + 200 };
        static uint32_t checksums[3 * CHECKSUMS_BLOCK_PAGES];
        static const unsigned char zeros[CHECKSUMS_SECTOR_BYTES];
        struct findings findings = { 0 };
        struct home_files homes;
        const uint32_t own = 17;
        uint64_t lost;
        int fd, data_fd;

        (void)state;
        assert_int_equal(sys_open(directory, "data", O_RDWR | O_CREAT, 0600, &data_fd), 0);
        assert_int_equal(sys_truncate(data_fd, (uint64_t)MANY * PAGE_BYTES), 0);
        sys_close(data_fd);
        assert_int_equal(checksums_make(directory, &id, 0, &fd), 0);
        assert_int_equal(checksums_write(fd, WITH_CHECKSUM, &own, 1), 0);
        assert_int_equal(sys_write_all(fd, "x", 1, checksums_offset(HARMED)), 0);
        for (int sector = 2; sector < 5; sector++) /* as a disk may leave them */
                assert_int_equal(sys_write_all(fd, zeros, sizeof(zeros), checksums_offset((uint64_t)sector * 127)), 0);

        assert_int_equal(home_files_open(&homes, directory, &manifest, true, &findings), 0);
        assert_int_equal(home_files_distrust(&homes, 0), 0);
        assert_int_equal(home_files_sync(&homes), 0);
        home_files_close(&homes);

        assert_int_equal(checksums_read(fd, 0, checksums, 3 * CHECKSUMS_BLOCK_PAGES, &lost), 0);
        assert_int_equal(lost, CHECKSUMS_SECTOR_PAGES);
        for (uint64_t i = 0; i < MANY; i++) {
                const uint64_t sector = i / CHECKSUMS_SECTOR_PAGES;
                const bool was_known = sector == 0 || (sector > 4 && sector < 8);

                assert_int_equal(checksums[i], i == WITH_CHECKSUM ? own : was_known ? 0 : CHECKSUMS_UNKNOWN);
        }
        for (uint64_t i = MANY; i < UINT64_C(3) * CHECKSUMS_BLOCK_PAGES; i++)
                assert_int_equal(checksums[i], 0);
        sys_close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_what_a_harmed_block_knew_is_not_known, directory_empty),
                cmocka_unit_test_setup(test_the_power_may_go_after_any_write, directory_empty),
                cmocka_unit_test_setup(test_distrust_takes_all_holes, directory_empty),
        };
        return cmocka_run_group_tests_name("home_files", tests, directory_setup, directory_teardown);
}
