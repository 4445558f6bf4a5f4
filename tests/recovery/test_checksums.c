/* SPDX-License-Identifier: MIT */
#include "recovery/checksums.h"

/*
 * The checksums of pages: what was written comes back; what never was is zeros, as a hole is; a sector that was harmed
 * knows nothing of its pages, and takes nothing else with it; whatever fails says so.
 */

#include "tests/base/directory.h"

#include <stdbool.h>

#include <xac/xac.h>

#include "recovery/checksums_compare.h"
#include "recovery/page_name.h"
#include "recovery/seal.h"

enum { PAGES = 1000, PAGE_BYTES = 4096 };

static const struct checksums_id sample = {
        .uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
        .file_no = 7,
        .page_bytes = PAGE_BYTES,
        .mode = 0640,
};

static int made(uint64_t unknown)
{
        int fd;

        assert_int_equal(checksums_make(directory, &sample, unknown, &fd), 0);
        return fd;
}

static uint32_t value_of(uint64_t page_no)
{
        return (uint32_t)(page_no * 2654435761U) | 1;
}

static void expect(int fd, uint64_t first, uint64_t count, uint32_t (*value)(uint64_t page_no))
{
        static uint32_t values[PAGES];

        assert_int_equal(checksums_read(fd, first, values, count, NULL), 0);
        for (uint64_t i = 0; i < count; i++)
                assert_int_equal(values[i], value(first + i));
}

static uint32_t zero(uint64_t page_no)
{
        (void)page_no;
        return 0;
}

static uint32_t unknown(uint64_t page_no)
{
        (void)page_no;
        return CHECKSUMS_UNKNOWN;
}

static void write_values(int fd, uint64_t first, uint64_t count)
{
        static uint32_t values[PAGES];

        for (uint64_t i = 0; i < count; i++)
                values[i] = value_of(first + i);
        assert_int_equal(checksums_write(fd, first, values, count), 0);
}

static void harm(int fd, uint64_t offset, size_t byte_len, int byte)
{
        unsigned char bytes[CHECKSUMS_SECTOR_BYTES];

        memset(bytes, byte, sizeof(bytes));
        assert_int_equal(pwrite(fd, bytes, byte_len, (off_t)offset), byte_len);
}

/* ---- Checksums ---- */

static void test_zeros_are_a_hole(void **state)
{
        static unsigned char page[PAGE_BYTES];
        int fd = made(0);

        (void)state;
        assert_int_equal(checksums_of(page, PAGE_BYTES), 0);
        page[4095] = 1;
        assert_int_not_equal(checksums_of(page, PAGE_BYTES), 0);
        expect(fd, 0, PAGES, zero);
        assert_int_equal(checksums_grow(fd, PAGES), 0);
        expect(fd, 0, PAGES, zero);
        assert_int_equal(checksums_judge_sector(fd, 5), CHECKSUMS_HOLE);
        write_values(fd, 5, 1);
        assert_int_equal(checksums_judge_sector(fd, 126), CHECKSUMS_SOUND);
        assert_int_equal(checksums_judge_sector(fd, 127), CHECKSUMS_SOUND); /* with its block */
        assert_int_equal(checksums_judge_sector(fd, CHECKSUMS_BLOCK_PAGES), CHECKSUMS_HOLE);
        sys_close(fd);
}

static void test_what_is_written_comes_back(void **state)
{
        int fd = made(0);
        struct checksums_note note;

        (void)state;
        write_values(fd, 3, 1);
        write_values(fd, 120, 20);
        write_values(fd, 300, 700);
        expect(fd, 3, 1, value_of);
        expect(fd, 4, 116, zero);
        expect(fd, 120, 20, value_of);
        expect(fd, 140, 160, zero);
        expect(fd, 300, 700, value_of);
        sys_close(fd);
        assert_int_equal(checksums_open(directory, &sample, O_RDWR, &fd, &note), 0);
        assert_int_equal(note.state, CHECKSUMS_OPEN);
        expect(fd, 300, 700, value_of);
        sys_close(fd);
}

static void test_a_batch_does_the_same(void **state)
{
        struct checksums_batch batch = { .fd = made(0) };

        (void)state;
        for (uint64_t i = 0; i < PAGES; i += i % 3 + 1)
                assert_int_equal(checksums_batch_put(&batch, i, value_of(i)), 0);
        assert_int_equal(checksums_batch_flush(&batch), 0);
        assert_int_equal(checksums_batch_flush(&batch), 0);
        for (uint64_t i = 0, next = 0; i < PAGES; i++) {
                expect(batch.fd, i, 1, i == next ? value_of : zero);
                next += i == next ? i % 3 + 1 : 0;
        }
        sys_close(batch.fd);
}

static void test_unknown_is_not_zeros(void **state)
{
        int fd = made(200);

        (void)state;
        expect(fd, 0, 200, unknown);
        write_values(fd, 17, 2);
        expect(fd, 17, 2, value_of);
        expect(fd, 19, 181, unknown);
        assert_int_equal(checksums_write_unknown(fd, 300, 5), 0);
        expect(fd, 300, 5, unknown);
        expect(fd, 305, 3, zero);
        sys_close(fd);
}

static void test_cut_is_zeros_again(void **state)
{
        int fd = made(0);
        uint64_t count;

        (void)state;
        write_values(fd, 0, PAGES);
        assert_int_equal(checksums_cut(fd, 200), 0);
        expect(fd, 0, 200, value_of);
        expect(fd, 200, 800, zero);
        assert_int_equal(checksums_count(fd, &count), 0);
        assert_int_equal(count, 2 * CHECKSUMS_SECTOR_PAGES);
        assert_int_equal(checksums_cut(fd, 0), 0);
        expect(fd, 0, PAGES, zero);
        sys_close(fd);
}

/* Whatever the length of its checksums is, a file has no more pages than there are numbers for. */
static void test_a_count_is_bounded(void **state)
{
        int fd = made(0);
        uint64_t count;

        (void)state;
        assert_int_equal(ftruncate(fd, (off_t)1 << 42), 0); /* a hole */
        assert_int_equal(checksums_count(fd, &count), 0);
        assert_true(count >= UINT64_C(1) << 28 && count < (UINT64_C(1) << 28) + CHECKSUMS_BLOCK_PAGES);
        assert_int_equal(count % CHECKSUMS_BLOCK_PAGES, 0);
        sys_close(fd);
}

static void test_a_harmed_sector_knows_nothing(void **state)
{
        static uint32_t values[PAGES];
        uint64_t lost;
        int fd = made(0);

        (void)state;
        write_values(fd, 0, PAGES);
        harm(fd, checksums_offset(127 + 50), 4, 0x55);
        assert_int_equal(checksums_read(fd, 0, values, PAGES, &lost), 0);
        assert_int_equal(lost, 127);
        assert_int_equal(checksums_judge_sector(fd, 130), CHECKSUMS_LOST);
        expect(fd, 0, 127, value_of);
        expect(fd, 127, 127, unknown);
        expect(fd, 254, PAGES - 254, value_of);
        write_values(fd, 150, 1);
        expect(fd, 150, 1, value_of);
        expect(fd, 151, 103, unknown);
        sys_close(fd);
}

/* Each bit of a sector, its own checksum's too. */
static void test_each_bit_of_a_sector_counts(void **state)
{
        static uint32_t values[CHECKSUMS_SECTOR_PAGES];
        unsigned char byte;
        uint64_t lost;
        int fd = made(0);

        (void)state;
        write_values(fd, 0, CHECKSUMS_SECTOR_PAGES);
        for (off_t bit = 0; bit < (off_t)CHECKSUMS_SECTOR_BYTES * 8; bit++) {
                off_t at = CHECKSUMS_HEADER_BYTES + bit / 8;

                assert_int_equal(pread(fd, &byte, 1, at), 1);
                byte ^= (unsigned char)(1 << bit % 8);
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
                assert_int_equal(checksums_read(fd, 0, values, CHECKSUMS_SECTOR_PAGES, &lost), 0);
                assert_int_equal(lost, CHECKSUMS_SECTOR_PAGES);
                byte ^= (unsigned char)(1 << bit % 8);
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        expect(fd, 0, CHECKSUMS_SECTOR_PAGES, value_of);
        sys_close(fd);
}

/* ---- The header ---- */

static void test_only_its_own_header_is_believed(void **state)
{
        struct checksums_note note;
        struct checksums_id other = sample;
        int fd;

        (void)state;
        assert_int_equal(checksums_open(directory, &sample, O_RDWR, &fd, &note), -ENOENT);
        fd = made(0);
        sys_close(fd);
        other.uuid[3]++;
        assert_int_equal(checksums_open(directory, &other, O_RDWR, &fd, &note), XAC_CORRUPT);
        other = sample;
        other.page_bytes = 8192;
        assert_int_equal(checksums_open(directory, &other, O_RDWR, &fd, &note), XAC_CORRUPT);
        for (off_t at = 0; at < CHECKSUMS_SECTOR_BYTES; at++) {
                unsigned char byte;

                assert_int_equal(checksums_open(directory, &sample, O_RDWR, &fd, &note), 0);
                assert_int_equal(pread(fd, &byte, 1, at), 1);
                byte ^= 4;
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
                sys_close(fd);
                assert_int_equal(checksums_open(directory, &sample, O_RDWR, &fd, &note), XAC_CORRUPT);
                fd = openat(directory, "xac.sums.7", O_RDWR | O_CLOEXEC);
                byte ^= 4;
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
                sys_close(fd);
        }
        assert_int_equal(unlinkat(directory, "xac.sums.7", 0), 0);
        assert_int_equal(mkdirat(directory, "xac.sums.7", 0700), 0);
        assert_int_equal(checksums_open(directory, &sample, O_RDWR, &fd, &note), XAC_CORRUPT);
        assert_int_equal(unlinkat(directory, "xac.sums.7", AT_REMOVEDIR), 0);
}

static void test_a_harmed_note_says_open(void **state)
{
        const struct checksums_note closed = {
                .state = CHECKSUMS_CLOSED, .size = 4711, .seconds = -5, .nanoseconds = 999
        };
        struct checksums_note note;
        int fd = made(0);

        (void)state;
        assert_int_equal(checksums_put_note(fd, &closed), 0);
        sys_close(fd);
        assert_int_equal(checksums_open(directory, &sample, O_RDWR, &fd, &note), 0);
        assert_int_equal(note.state, CHECKSUMS_CLOSED);
        assert_true(note.size == 4711 && note.seconds == -5 && note.nanoseconds == 999 && !note.is_lost);
        for (int byte = 0; byte < 256; byte += 85) { /* zeros, too */
                harm(fd, 4096, CHECKSUMS_SECTOR_BYTES, byte);
                sys_close(fd);
                assert_int_equal(checksums_open(directory, &sample, O_RDWR, &fd, &note), 0);
                assert_int_equal(note.state, CHECKSUMS_OPEN);
                assert_true(note.is_lost);
        }
        sys_close(fd);
}

static void test_time_and_size_tell_of_changes(void **state)
{
        struct checksums_note note;
        bool is_unchanged;
        int fd = openat(directory, "data", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        (void)state;
        assert_int_equal(pwrite(fd, "x", 1, 0), 1);
        assert_int_equal(checksums_note_of(fd, &note), 0);
        assert_int_equal(note.state, CHECKSUMS_CLOSED);
        assert_int_equal(checksums_is_unchanged(fd, &note, &is_unchanged), 0);
        assert_true(is_unchanged);
        assert_int_equal(pwrite(fd, "x", 1, 0), 1); /* at once: the note has waited for that */
        assert_int_equal(checksums_is_unchanged(fd, &note, &is_unchanged), 0);
        assert_false(is_unchanged);
        sys_close(fd);
}

static void test_names(void **state)
{
        char name[CHECKSUMS_NAME_BYTES];

        (void)state;
        checksums_name(0, name);
        assert_string_equal(name, "xac.sums.0");
        checksums_name(63, name);
        assert_string_equal(name, "xac.sums.63");
        assert_true(checksums_is_name("xac.sums.5"));
        assert_false(checksums_is_name("xac.sums.05"));
        assert_false(checksums_is_name("xac.sums."));
        assert_false(checksums_is_name("xac.sums.x"));
        assert_false(checksums_is_name("xac.sums.123"));
        assert_false(checksums_is_name("xac.log.1"));
}

/* ---- Failures ---- */

static int make_and_use(void)
{
        struct checksums_note note;
        uint32_t value = 5;
        int fd;
        int err = checksums_make(directory, &sample, 300, &fd);

        if (err)
                return err;
        sys_close(fd);
        err = checksums_open(directory, &sample, O_RDWR, &fd, &note);
        if (err)
                return err;
        err = checksums_grow(fd, PAGES);
        if (!err)
                err = checksums_write(fd, 77, &value, 1);
        if (!err)
                err = checksums_read(fd, 77, &value, 1, NULL);
        if (!err)
                err = checksums_put_note(fd, &note);
        if (!err)
                err = checksums_cut(fd, 10);
        sys_close(fd);
        return err;
}

/* It may be done again, and what a crash in the middle leaves is not taken for a file of checksums. */
static void test_each_call_may_fail(void **state)
{
        bool has_failed = true;

        (void)state;
        for (int nth = 1; has_failed; nth++) {
                struct checksums_note note;
                int fd;

                (void)unlinkat(directory, "xac.sums.7", 0);
                scratch_fail(nth, -EIO, 0);
                int err = make_and_use();

                has_failed = scratch_failed();
                assert_int_equal(err, has_failed ? -EIO : 0);
                err = checksums_open(directory, &sample, O_RDWR, &fd, &note);
                assert_true(err == 0 || err == -ENOENT);
                if (!err)
                        sys_close(fd);
                assert_int_equal(make_and_use(), 0);
        }
}

/* ---- Comparing ---- */

struct seen {
        unsigned count;
        struct checksums_page page[8];
};

static int see(void *arg, const struct checksums_page *page)
{
        struct seen *seen = arg;

        if (seen->count < 8)
                seen->page[seen->count] = *page;
        seen->count++;
        return 0;
}

static void test_pages_beside_their_checksums(void **state)
{
        static unsigned char page[PAGE_BYTES];
        struct seen seen = { 0 };
        struct checksums_compare compare = { .page_bytes = PAGE_BYTES, .visit = see, .arg = &seen };

        (void)state;
        compare.checksums_fd = made(0);
        compare.data_fd = openat(directory, "data", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        for (uint64_t i = 0; i < 400; i++) {
                uint32_t value;

                memset(page, (int)i % 251 + 1, sizeof(page));
                value = checksums_of(page, PAGE_BYTES);
                assert_int_equal(pwrite(compare.data_fd, page, PAGE_BYTES, (off_t)i * PAGE_BYTES), PAGE_BYTES);
                assert_int_equal(checksums_write(compare.checksums_fd, i, &value, 1), 0);
        }
        assert_int_equal(checksums_compare(&compare), 0);
        assert_true(compare.pages == 400 && !compare.differing && !compare.unknown && !seen.count);

        assert_int_equal(pwrite(compare.data_fd, "x", 1, 130 * PAGE_BYTES), 1);
        write_values(compare.checksums_fd, 402, 1); /* behind the file's end */
        assert_int_equal(checksums_write_unknown(compare.checksums_fd, 9, 1), 0);
        harm(compare.checksums_fd, checksums_offset(260), 1, 0x77);
        assert_int_equal(checksums_compare(&compare), 0);
        assert_int_equal(compare.differing, 2);
        assert_int_equal(compare.unknown, 1 + 127);
        assert_int_equal(compare.lost, 127);
        assert_int_equal(seen.count, 3 + 127);
        assert_true(seen.page[0].page_no == 9 && seen.page[0].expected == CHECKSUMS_UNKNOWN && !seen.page[0].is_lost);
        assert_true(seen.page[1].page_no == 130 && seen.page[1].checksum != seen.page[1].expected);
        assert_true(seen.page[2].page_no == 254 && seen.page[2].is_lost);
        sys_close(compare.checksums_fd);
        sys_close(compare.data_fd);
}

/* ---- Holes ---- */

/* What anybody may make with a few bytes: as many pages as a file can have, in both files. */
#define PAGES_OF_ANYBODY (PAGE_NAME_NUMBERS - 3)
enum { CALLS_ENOUGH = 300 }; /* where each sector would take one of two million */

static int calls;

static int count_calls(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        calls += call == SYS_PREAD || call == SYS_PWRITE || call == SYS_SEEK;
        return 0;
}

static void count_from_now(void)
{
        calls = 0;
        sys_fail = count_calls;
}

static void assert_few_calls(void)
{
        sys_fail = NULL;
        assert_true(calls < CALLS_ENOUGH);
}

static void make_long_hole(struct checksums_compare *compare)
{
        compare->checksums_fd = made(0);
        compare->data_fd = openat(directory, "data", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(ftruncate(compare->data_fd, (off_t)PAGES_OF_ANYBODY * PAGE_BYTES - 5), 0);
        assert_int_equal(checksums_grow(compare->checksums_fd, PAGES_OF_ANYBODY), 0);
}

/* What stands in the middle of it, at its end and behind is seen all the same. */
static void test_a_hole_of_both_is_one_step(void **state)
{
        const uint64_t middle = PAGES_OF_ANYBODY / 2;
        struct seen seen = { 0 };
        struct checksums_compare compare = { .page_bytes = PAGE_BYTES, .visit = see, .arg = &seen };

        (void)state;
        make_long_hole(&compare);
        count_from_now();
        assert_int_equal(checksums_compare(&compare), 0);
        assert_few_calls();
        assert_true(compare.pages == PAGES_OF_ANYBODY && !seen.count);

        assert_int_equal(pwrite(compare.data_fd, "x", 1, (off_t)middle * PAGE_BYTES), 1);
        write_values(compare.checksums_fd, middle + 100000, 1);
        write_values(compare.checksums_fd, PAGES_OF_ANYBODY - 1, 3); /* the last sector has some for no page */
        count_from_now();
        assert_int_equal(checksums_compare(&compare), 0);
        assert_few_calls();
        assert_int_equal(seen.count, 5);
        assert_true(seen.page[0].page_no == middle && seen.page[0].expected == 0 && seen.page[0].checksum != 0);
        assert_true(seen.page[1].page_no == middle + 100000 && seen.page[1].checksum == 0);
        for (uint64_t i = 0; i < 3; i++)
                assert_int_equal(seen.page[2 + i].page_no, PAGES_OF_ANYBODY - 1 + i);
        sys_close(compare.checksums_fd);
        sys_close(compare.data_fd);
}

static void test_a_hole_is_passed_over_in_search(void **state)
{
        struct checksums_compare compare = { .page_bytes = PAGE_BYTES };
        uint64_t found;

        (void)state;
        make_long_hole(&compare);
        count_from_now();
        assert_int_equal(checksums_find(compare.checksums_fd, 10, &found), 0);
        assert_true(found == UINT64_MAX);
        write_values(compare.checksums_fd, PAGES_OF_ANYBODY - 1, 1);
        assert_int_equal(checksums_find(compare.checksums_fd, 10, &found), 0);
        assert_few_calls();
        assert_true(found == PAGES_OF_ANYBODY - 1);
        sys_close(compare.checksums_fd);
        sys_close(compare.data_fd);
}

/* A seal says the same of it, whether it is a hole or zeros were written. */
static void test_a_seal_passes_over_holes(void **state)
{
        static const struct double_write_contents none;
        static struct manifest manifest = { .page_bytes = PAGE_BYTES, .mode = 0640, .file_count = 8 };
        struct checksums_compare compare = { .page_bytes = PAGE_BYTES };
        enum seal_verdict verdict;

        (void)state;
        memcpy(manifest.uuid, sample.uuid, sizeof(manifest.uuid));
        make_long_hole(&compare);
        write_values(compare.checksums_fd, 5000, 3);
        write_values(compare.checksums_fd, PAGES_OF_ANYBODY - 1, 1);
        count_from_now();
        assert_int_equal(seal_renew(directory, &manifest, sample.file_no), 0);
        assert_few_calls();
        assert_true(manifest.seal[sample.file_no].outside != 0);

        const uint32_t zeros[PAGES] = { 0 };
        const struct seal_files files = { compare.checksums_fd, PAGES_OF_ANYBODY * PAGE_BYTES };
        for (uint64_t first = 0; first < 20000; first += PAGES)
                if (first != 5000)
                        assert_int_equal(checksums_write(compare.checksums_fd, first, zeros, PAGES), 0);
        assert_int_equal(seal_judge(&manifest, sample.file_no, &files, &none, &verdict), 0);
        assert_int_equal(verdict, SEAL_WHOLE);
        write_values(compare.checksums_fd, 100000, 1);
        assert_int_equal(seal_judge(&manifest, sample.file_no, &files, &none, &verdict), 0);
        assert_int_equal(verdict, SEAL_BROKEN);
        sys_close(compare.checksums_fd);
        sys_close(compare.data_fd);
}

/* Many at once, and only those. */
static void test_unknown_in_blocks(void **state)
{
        enum { FIRST = 100, COUNT = 70 * CHECKSUMS_BLOCK_PAGES };
        int fd = made(0);

        (void)state;
        write_values(fd, 0, PAGES);
        count_from_now();
        assert_int_equal(checksums_write_unknown(fd, FIRST, COUNT), 0);
        assert_few_calls();
        expect(fd, 0, FIRST, value_of);
        for (uint64_t first = FIRST; first < FIRST + COUNT; first += 10)
                expect(fd, first, 10, unknown);
        expect(fd, FIRST + COUNT, PAGES, zero);
        sys_close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_zeros_are_a_hole, directory_empty),
                cmocka_unit_test_setup(test_what_is_written_comes_back, directory_empty),
                cmocka_unit_test_setup(test_a_batch_does_the_same, directory_empty),
                cmocka_unit_test_setup(test_unknown_is_not_zeros, directory_empty),
                cmocka_unit_test_setup(test_cut_is_zeros_again, directory_empty),
                cmocka_unit_test_setup(test_a_count_is_bounded, directory_empty),
                cmocka_unit_test_setup(test_a_harmed_sector_knows_nothing, directory_empty),
                cmocka_unit_test_setup(test_each_bit_of_a_sector_counts, directory_empty),
                cmocka_unit_test_setup(test_only_its_own_header_is_believed, directory_empty),
                cmocka_unit_test_setup(test_a_harmed_note_says_open, directory_empty),
                cmocka_unit_test_setup(test_time_and_size_tell_of_changes, directory_empty),
                cmocka_unit_test_setup(test_names, directory_empty),
                cmocka_unit_test_setup(test_each_call_may_fail, directory_empty),
                cmocka_unit_test_setup(test_pages_beside_their_checksums, directory_empty),
                cmocka_unit_test_setup(test_a_hole_of_both_is_one_step, directory_empty),
                cmocka_unit_test_setup(test_a_hole_is_passed_over_in_search, directory_empty),
                cmocka_unit_test_setup(test_a_seal_passes_over_holes, directory_empty),
                cmocka_unit_test_setup(test_unknown_in_blocks, directory_empty),
        };
        return cmocka_run_group_tests_name("checksums", tests, directory_setup, directory_teardown);
}
