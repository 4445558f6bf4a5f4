/* SPDX-License-Identifier: MIT */
#include "recovery/double_write.h"

/*
 * The double-write buffer: what was written comes back, page by page; anything else is recognised as damage,
 * with its place; and a failure leaves nothing behind that is in the way.
 */

#include "tests/base/directory.h"

#include <stdbool.h>

#include <xac/xac.h>

#include "base/checksum.h"

enum { PAGES_MAX = 300, PAGE_BYTES_MAX = 65536, HEADER_BYTES = 4096, ENTRY_BYTES = 24, PAGE_BYTES = 4096 };

static unsigned char *content; /* PAGES_MAX pages, each of its own bytes */

static const struct double_write_id sample = {
        .uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
        .sequence = 4711,
        .page_bytes = PAGE_BYTES,
        .mode = 0640,
};

static int group_setup(void **state)
{
        content = malloc((size_t)PAGES_MAX * PAGE_BYTES_MAX);
        for (size_t i = 0; content && i < (size_t)PAGES_MAX * PAGE_BYTES_MAX; i++)
                content[i] = (unsigned char)(i * 31 + i / PAGE_BYTES);
        return !content || directory_setup(state);
}

static int group_teardown(void **state)
{
        free(content);
        return directory_teardown(state);
}

/* ---- What is written, and what comes back ---- */

/* Pages 3, 5, 7, ... of file 0, and from number 100 on of file 2. */
static uint64_t page_of(uint64_t i)
{
        return (i < 100 ? 0 : UINT64_C(2) << 28) | (2 * i + 3);
}

struct source {
        uint64_t asked;
        uint32_t page_bytes;
        bool is_reversed;
};

static struct page_image image_of(void *arg, uint64_t i)
{
        struct source *source = arg;

        assert_int_equal(source->asked++, i);
        return (struct page_image){ .page = page_of(source->is_reversed ? PAGES_MAX - i : i),
                                    .sequence = 1000 + i,
                                    .bytes = content + i * source->page_bytes };
}

static int write_buffer(const struct double_write_id *id, int which, uint64_t count, uint32_t *checksum)
{
        struct source source = { .page_bytes = id->page_bytes };
        int err = double_write_store(directory, which, id, count, image_of, &source, checksum);

        if (!err)
                assert_int_equal(source.asked, count);
        return err;
}

struct sink {
        uint64_t count;
        uint32_t page_bytes;
        uint64_t stop_at;
};

static int compare(void *arg, const struct page_image *image)
{
        struct sink *sink = arg;

        assert_int_equal(image->page, page_of(sink->count));
        assert_int_equal(image->sequence, 1000 + sink->count);
        assert_memory_equal(image->bytes, content + sink->count * sink->page_bytes, sink->page_bytes);
        return ++sink->count == sink->stop_at ? -ECANCELED : 0;
}

static struct double_write_damage damage;
static uint64_t visited;

static int read_buffer(const struct double_write_id *id, int which, uint32_t checksum)
{
        struct sink sink = { .page_bytes = id->page_bytes };
        const struct double_write_visitor visitor = { .visit = compare, .arg = &sink };
        int err = double_write_read(directory, which, id, checksum, &visitor, &damage);

        visited = sink.count;
        return err;
}

static uint32_t written(int which, uint64_t count)
{
        uint32_t checksum;

        assert_int_equal(write_buffer(&sample, which, count, &checksum), 0);
        return checksum;
}

static void assert_corrupt(const struct double_write_id *id, uint32_t checksum, uint64_t offset)
{
        assert_int_equal(read_buffer(id, 0, checksum), XAC_CORRUPT);
        assert_int_equal(visited, 0);
        assert_int_equal(damage.offset, offset);
        assert_true(damage.page == UINT64_MAX);
        assert_non_null(damage.what);
}

static int open_buffer(int which)
{
        int fd = openat(directory, which ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0, O_RDWR | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static off_t size_of(int which)
{
        struct stat st;

        return fstatat(directory, which ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0, &st, 0) ? -1 : st.st_size;
}

static void flip(uint64_t offset)
{
        int fd = open_buffer(0);
        unsigned char byte;

        assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
        byte ^= 0x40;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
        close(fd);
}

/* ---- The plain way ---- */

static void test_what_is_written_comes_back(void **state)
{
        static const uint64_t counts[] = { 0, 1, 127, 128, 129, 170, 171, PAGES_MAX };

        (void)state;
        for (uint32_t page_bytes = 4096; page_bytes <= PAGE_BYTES_MAX; page_bytes *= 4)
                for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                        struct double_write_id id = sample;
                        uint32_t checksum;

                        id.page_bytes = page_bytes;
                        assert_int_equal(write_buffer(&id, i % 2, counts[i], &checksum), 0);
                        assert_int_equal(read_buffer(&id, i % 2, checksum), 0);
                        assert_int_equal(visited, counts[i]);
                }
}

/* Two buffers, used again and again, for more pages and for fewer. */
static void test_buffers_are_used_again(void **state)
{
        static const uint64_t counts[] = { 5, 200, 3, 0, 199 };
        uint32_t checksums[2] = { 0, 0 };

        (void)state;
        checksums[1] = written(1, 7);
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                struct double_write_id id = sample;

                id.sequence += i;
                assert_int_equal(write_buffer(&id, 0, counts[i], &checksums[0]), 0);
                assert_int_equal(read_buffer(&id, 0, checksums[0]), 0);
                assert_int_equal(visited, counts[i]);
                assert_int_equal(read_buffer(&sample, 1, checksums[1]), 0);
                assert_int_equal(visited, 7);
        }
}

static void test_the_mode_is_as_told(void **state)
{
        mode_t before = umask(077);
        struct stat st;

        (void)state;
        written(0, 1);
        umask(before);
        assert_int_equal(fstatat(directory, DOUBLE_WRITE_NAME_0, &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
}

static void test_a_visit_may_end_it(void **state)
{
        uint32_t checksum = written(0, 20);
        struct sink sink = { .page_bytes = PAGE_BYTES, .stop_at = 3 };
        const struct double_write_visitor visitor = { .visit = compare, .arg = &sink };

        (void)state;
        assert_int_equal(double_write_read(directory, 0, &sample, checksum, &visitor, &damage), -ECANCELED);
        assert_int_equal(sink.count, 3);
        assert_null(damage.what);
}

static void test_clearing_frees_the_space(void **state)
{
        (void)state;
        double_write_clear(directory); /* there is none */
        written(0, 20);
        written(1, 20);
        double_write_clear(directory);
        assert_int_equal(size_of(0), 0);
        assert_int_equal(size_of(1), 0);
        assert_int_equal(read_buffer(&sample, 0, written(0, 20)), 0);
}

/* The bytes are the format: a change of them must be a change of its version. */
static void test_the_bytes_are_as_described(void **state)
{
        uint32_t checksum = written(0, 2), crc;
        unsigned char bytes[HEADER_BYTES + 2 * ENTRY_BYTES], expected[sizeof(bytes)] = "XACAREA1\1";
        int fd = open_buffer(0);

        (void)state;
        assert_int_equal(size_of(0), 4 * 4096);
        assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
        close(fd);
        memcpy(expected + 16, sample.uuid, 16);
        expected[32] = 4711 & 255, expected[33] = 4711 >> 8;
        expected[40] = 2, expected[49] = 4096 >> 8;
        for (int i = 0; i < 2; i++) {
                unsigned char *entry = expected + HEADER_BYTES + i * ENTRY_BYTES;

                entry[0] = (unsigned char)page_of((uint64_t)i);
                entry[8] = (1000 + i) & 255, entry[9] = (1000 + i) >> 8;
                crc = checksum_crc32c(0, content + i * PAGE_BYTES, PAGE_BYTES);
                memcpy(entry + 16, &crc, 4);
        }
        crc = checksum_crc32c(0, expected + HEADER_BYTES, 2 * ENTRY_BYTES);
        memcpy(expected + 52, &crc, 4);
        crc = checksum_crc32c(checksum_crc32c(0, expected, 12), expected + 16, HEADER_BYTES - 16);
        memcpy(expected + 12, &crc, 4);
        assert_memory_equal(bytes, expected, sizeof(bytes));
        assert_int_equal(checksum, crc);
}

/* ---- What is on disk ---- */

static int calls, last_write, last_sync, directory_syncs;

static int note(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        calls++;
        if (call == SYS_PWRITE)
                last_write = calls;
        if (call == SYS_SYNC && fd == directory)
                directory_syncs++;
        else if (call == SYS_SYNC)
                last_sync = calls;
        return 0;
}

static void test_it_is_on_disk_with_its_name(void **state)
{
        uint32_t checksum;

        (void)state;
        for (int round = 0; round < 3; round++) {
                calls = last_write = last_sync = directory_syncs = 0;
                sys_fail = note;
                assert_int_equal(write_buffer(&sample, 0, 200, &checksum), 0);
                sys_fail = NULL;
                assert_true(last_write > 0 && last_sync > last_write);
                assert_int_equal(directory_syncs, round != 1); /* a name that is known to be durable, or not */
                if (round == 1)
                        double_write_clear(directory);
        }
}

/* ---- Damage ---- */

static void test_another_buffer_is_not_taken_for_it(void **state)
{
        uint32_t checksum = written(0, 10), other;
        struct double_write_id id = sample;

        (void)state;
        id.uuid[15] ^= 1;
        assert_corrupt(&id, checksum, 16);
        id = sample;
        id.sequence++;
        assert_corrupt(&id, checksum, 32);
        assert_corrupt(&sample, checksum + 1, 0);
        id = sample;
        id.page_bytes = 8192;
        assert_corrupt(&id, checksum, 0);

        other = written(1, 11); /* same sequence, other pages */
        assert_int_equal(renameat(directory, DOUBLE_WRITE_NAME_1, directory, DOUBLE_WRITE_NAME_0), 0);
        assert_corrupt(&sample, checksum, 0);
        assert_int_equal(read_buffer(&sample, 0, other), 0);
}

static void test_a_missing_or_short_file(void **state)
{
        uint32_t checksum = written(0, 10);
        off_t size = size_of(0);
        int fd = open_buffer(0);

        (void)state;
        assert_int_equal(size, 4096 + 4096 + 10 * PAGE_BYTES);
        assert_int_equal(ftruncate(fd, size - 1), 0);
        assert_corrupt(&sample, checksum, (uint64_t)size - 1);
        assert_int_equal(ftruncate(fd, 4096), 0);
        assert_corrupt(&sample, checksum, 4096);
        assert_int_equal(ftruncate(fd, 4095), 0);
        assert_corrupt(&sample, checksum, 0);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_corrupt(&sample, checksum, 0);
        close(fd);
        assert_int_equal(unlinkat(directory, DOUBLE_WRITE_NAME_0, 0), 0);
        assert_corrupt(&sample, checksum, 0);
        assert_int_equal(mkfifoat(directory, DOUBLE_WRITE_NAME_0, 0600), 0);
        assert_corrupt(&sample, checksum, 0);
}

static void test_every_byte_of_header_and_table_counts(void **state)
{
        uint32_t checksum = written(0, 10);

        (void)state;
        for (uint64_t at = 0; at < HEADER_BYTES + 10 * ENTRY_BYTES; at += at < 64 || at >= HEADER_BYTES ? 1 : 61) {
                flip(at);
                assert_int_equal(read_buffer(&sample, 0, checksum), XAC_CORRUPT);
                assert_int_equal(visited, 0);
                assert_true(damage.page == UINT64_MAX);
                flip(at);
        }
        assert_int_equal(read_buffer(&sample, 0, checksum), 0);
}

static void test_a_damaged_page_is_named(void **state)
{
        uint32_t checksum = written(0, PAGES_MAX);
        uint64_t pages_at = HEADER_BYTES + 8192; /* 300 entries take two blocks */

        (void)state;
        for (uint64_t i = 0; i < PAGES_MAX; i += 37) {
                uint64_t at = pages_at + i * PAGE_BYTES;

                flip(at + i * 7);
                assert_int_equal(read_buffer(&sample, 0, checksum), XAC_CORRUPT);
                assert_int_equal(visited, i); /* those before it */
                assert_int_equal(damage.page, page_of(i));
                assert_int_equal(damage.offset, at);
                assert_non_null(damage.what);
                flip(at + i * 7);
        }
}

static void test_pages_out_of_order(void **state)
{
        struct source source = { .page_bytes = PAGE_BYTES, .is_reversed = true };
        uint32_t checksum;

        (void)state;
        assert_int_equal(double_write_store(directory, 0, &sample, 2, image_of, &source, &checksum), 0);
        assert_corrupt(&sample, checksum, HEADER_BYTES + ENTRY_BYTES);
}

/* ---- As long as anybody likes ---- */

enum { AT_HEADER_CHECKSUM = 12, AT_COUNT = 40, AT_LISTED = 56 };

/* What is read of table and list at once, and twice that: there is no room for more before that is judged. */
enum { PIECE_BYTES = 1 << 20, ENOUGH_BYTES = 2 * PIECE_BYTES };

static size_t most_bytes; /* that one call asked for */
static size_t all_bytes;  /* that were read */

static int note_bytes(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset;
        if (call == SYS_PREAD)
                all_bytes += byte_len;
        if ((call == SYS_MMAP || call == SYS_MREMAP || call == SYS_PREAD) && byte_len > most_bytes)
                most_bytes = byte_len;
        return 0;
}

static void put_number(unsigned char *at, uint64_t value, int byte_len)
{
        for (int i = 0; i < byte_len; i++)
                at[i] = (unsigned char)(value >> 8 * i);
}

/* Its header is right, and says that so many are there: a hole. Returns its checksum. */
static uint32_t claim(uint64_t count, uint64_t listed_count, uint64_t file_bytes)
{
        unsigned char header[HEADER_BYTES];
        int fd = open_buffer(0);

        assert_int_equal(ftruncate(fd, (off_t)file_bytes), 0);
        assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
        put_number(header + AT_COUNT, count, 8);
        put_number(header + AT_LISTED, listed_count, 8);
        const uint32_t crc = checksum_crc32c(0, header, AT_HEADER_CHECKSUM);
        const uint32_t checksum = checksum_crc32c(crc, header + 16, HEADER_BYTES - 16);
        put_number(header + AT_HEADER_CHECKSUM, checksum, 4);
        assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
        close(fd);
        return checksum;
}

static void assert_little_is_taken(uint32_t checksum, uint64_t offset)
{
        struct double_write_contents contents;

        most_bytes = all_bytes = 0;
        sys_fail = note_bytes;
        int err = double_write_read_contents(directory, 0, &sample, checksum, &contents, &damage);
        sys_fail = NULL;
        assert_true(most_bytes <= ENOUGH_BYTES && all_bytes <= ENOUGH_BYTES);
        assert_int_equal(err, XAC_CORRUPT);
        assert_int_equal(damage.offset, offset);
        double_write_contents_free(&contents);
}

/* 64 GiB of nothing: a table of 384 MiB, or a list of 4 GiB. */
static void test_a_table_of_zeros_takes_no_room(void **state)
{
        const uint64_t pages = UINT64_C(1) << 24;

        (void)state;
        written(0, 1);
        assert_little_is_taken(claim(pages, 0, (pages + 1) * PAGE_BYTES + pages * ENTRY_BYTES),
                               HEADER_BYTES + ENTRY_BYTES);
}

static void test_a_list_of_zeros_takes_no_room(void **state)
{
        const uint64_t pages = UINT64_C(1) << 29;

        (void)state;
        written(0, 1);
        assert_little_is_taken(claim(1, pages, (UINT64_C(3) + 1) * PAGE_BYTES + pages * 8), 8192 + 8);
}

/* ---- Failing calls ---- */

static void write_with_every_call_failing(uint64_t count_before)
{
        for (int nth = 1;; nth++) {
                uint32_t checksum;
                off_t before;
                int err;

                scratch_empty(directory);
                if (count_before)
                        written(0, count_before);
                before = size_of(0);
                scratch_fail(nth, -ENOSPC, 0);
                err = write_buffer(&sample, 0, 200, &checksum);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        break;
                }
                if (err) { /* else it was the munmap */
                        assert_int_equal(err, -ENOSPC);
                        assert_true(size_of(0) <= (before > 0 ? before : 0)); /* the room is free again */
                }
                checksum = written(0, 200); /* nothing is in the way */
                assert_int_equal(read_buffer(&sample, 0, checksum), 0);
                assert_int_equal(visited, 200);
        }
}

static void test_write_with_every_call_failing(void **state)
{
        (void)state;
        write_with_every_call_failing(0);
        write_with_every_call_failing(100);
        write_with_every_call_failing(250);
}

static void test_read_with_every_call_failing(void **state)
{
        uint32_t checksum = written(0, 280);

        (void)state;
        for (int nth = 1;; nth++) {
                int err;

                scratch_fail(nth, -EIO, 0);
                err = read_buffer(&sample, 0, checksum);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        break;
                }
                if (err)                                            /* else it was the munmap */
                        assert_true(err == -EIO || err == -ENOMEM); /* it may pass: no damage */
        }
}

/* ---- Batches ---- */

static const uint64_t listed[] = { 1, 4, 9, UINT64_C(5) << 28 };
enum { LISTED = sizeof(listed) / sizeof(listed[0]) };

/* One with nothing but the list is recovery's. */
static uint32_t batch_written(uint64_t count)
{
        const struct double_write_batch batch = {
                .position = 70000, .redo = 66000, .is_end = !count, .listed = listed, .listed_count = LISTED
        };
        struct double_write_id id = sample;
        uint32_t checksum;

        id.batch = &batch;
        assert_int_equal(write_buffer(&id, 0, count, &checksum), 0);
        return checksum;
}

static void assert_contents(uint32_t checksum, uint64_t count, bool is_batch)
{
        struct double_write_contents contents;

        assert_int_equal(read_buffer(&sample, 0, checksum), 0);
        assert_int_equal(visited, count);
        assert_int_equal(double_write_read_contents(directory, 0, &sample, checksum, &contents, &damage), 0);
        assert_int_equal(contents.pages.count, count);
        for (uint32_t i = 0; i < count; i++)
                assert_int_equal(((uint64_t *)contents.pages.items)[i], page_of(i));
        assert_int_equal(contents.listed.count, is_batch ? LISTED : 0);
        if (is_batch)
                assert_memory_equal(contents.listed.items, listed, sizeof(listed));
        assert_int_equal(contents.position, is_batch ? 70000 : 0);
        assert_int_equal(contents.redo, is_batch ? 66000 : 0);
        assert_int_equal(contents.is_end, is_batch && !count);
        double_write_contents_free(&contents);
}

static void test_a_batch_lists_what_is_home(void **state)
{
        (void)state;
        assert_contents(batch_written(250), 250, true);
        assert_contents(batch_written(0), 0, true);
        assert_contents(written(0, 120), 120, false);
}

static void test_every_byte_of_the_list_counts(void **state)
{
        uint32_t checksum = batch_written(2);
        int fd = open_buffer(0);

        (void)state;
        for (unsigned i = 0; i < sizeof(listed); i++) {
                off_t at = 8192 + i; /* behind header and table */
                struct double_write_contents contents;
                unsigned char byte;

                assert_int_equal(pread(fd, &byte, 1, at), 1);
                byte ^= 0x10;
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
                assert_int_equal(double_write_read_contents(directory, 0, &sample, checksum, &contents, &damage),
                                 XAC_CORRUPT);
                assert_int_equal(damage.offset, 8192);
                assert_non_null(damage.what);
                double_write_contents_free(&contents);
                byte ^= 0x10;
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        close(fd);
        assert_contents(checksum, 2, true);
}

/* A file that was large once is cut when it may be, and only then. */
static void test_a_large_file_is_cut(void **state)
{
        struct double_write_id id = sample;
        uint32_t checksum;

        (void)state;
        written(0, 200);
        off_t large = size_of(0);
        id.keep_bytes = (uint64_t)large;
        assert_int_equal(write_buffer(&id, 0, 100, &checksum), 0);
        assert_int_equal(size_of(0), large);
        id.keep_bytes = (uint64_t)large - 1;
        assert_int_equal(write_buffer(&id, 0, 100, &checksum), 0);
        assert_true(size_of(0) < large);
        assert_contents(checksum, 100, false);
}

static void test_how_many_pages_are_a_batch(void **state)
{
        (void)state;
        assert_int_equal(double_write_pages_max(0, 4096), DOUBLE_WRITE_BYTES_DEFAULT / 2 / 4096);
        assert_int_equal(double_write_pages_max(1 << 20, 16384), 32);
        assert_true(double_write_pages_max(1, 65536) >= 1);
}

#define DOUBLE_WRITE_TEST(name) cmocka_unit_test_setup(name, directory_empty)

int main(void)
{
        const struct CMUnitTest tests[] = {
                DOUBLE_WRITE_TEST(test_what_is_written_comes_back),
                DOUBLE_WRITE_TEST(test_buffers_are_used_again),
                DOUBLE_WRITE_TEST(test_the_mode_is_as_told),
                DOUBLE_WRITE_TEST(test_a_visit_may_end_it),
                DOUBLE_WRITE_TEST(test_clearing_frees_the_space),
                DOUBLE_WRITE_TEST(test_the_bytes_are_as_described),
                DOUBLE_WRITE_TEST(test_it_is_on_disk_with_its_name),
                DOUBLE_WRITE_TEST(test_another_buffer_is_not_taken_for_it),
                DOUBLE_WRITE_TEST(test_a_missing_or_short_file),
                DOUBLE_WRITE_TEST(test_every_byte_of_header_and_table_counts),
                DOUBLE_WRITE_TEST(test_a_damaged_page_is_named),
                DOUBLE_WRITE_TEST(test_pages_out_of_order),
                DOUBLE_WRITE_TEST(test_a_table_of_zeros_takes_no_room),
                DOUBLE_WRITE_TEST(test_a_list_of_zeros_takes_no_room),
                DOUBLE_WRITE_TEST(test_write_with_every_call_failing),
                DOUBLE_WRITE_TEST(test_read_with_every_call_failing),
                DOUBLE_WRITE_TEST(test_a_batch_lists_what_is_home),
                DOUBLE_WRITE_TEST(test_every_byte_of_the_list_counts),
                DOUBLE_WRITE_TEST(test_a_large_file_is_cut),
                DOUBLE_WRITE_TEST(test_how_many_pages_are_a_batch),
        };

        return cmocka_run_group_tests_name("recovery/double_write", tests, group_setup, group_teardown);
}
