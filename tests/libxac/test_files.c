/* SPDX-License-Identifier: MIT */
#include "libxac/store/files.h"

/* Names, numbers and lengths of data files; what failures leave behind. */

#include "libxac/ground/line.h"
#include "tests/libxac/engine_stand.h"

#include <xac/xac.h>

#include "recovery/checksums.h"

static int open_file(const char *name, uint64_t byte_len, uint32_t *file_no)
{
        return files_open(&engine->files, name, byte_len, file_no);
}

static void put_file(const char *name, size_t byte_len)
{
        int fd = openat(engine->directory, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        assert_int_equal(ftruncate(fd, (off_t)byte_len), 0);
        close(fd);
}

/* Every name has the number that the manifest gives it, and shows its own file. */
static void assert_numbers_agree(void)
{
        struct control *control = engine->shared.control;
        struct manifest manifest;

        assert_int_equal(manifest_read(engine->directory, &manifest), 0);
        for (uint32_t i = 0; i < atomic_load(&control->file_count); i++) {
                struct stat by_fd, by_name;

                assert_string_equal(control->file[i].name, manifest.file_name[i]);
                if (!engine->files.file[i].home)
                        continue;
                assert_int_equal(fstat(engine->files.file[i].fd, &by_fd), 0);
                assert_int_equal(fstatat(engine->directory, manifest.file_name[i], &by_name, 0), 0);
                assert_int_equal(by_fd.st_ino, by_name.st_ino);
        }
}

static void test_bad_names(void **state)
{
        char longest[MANIFEST_NAME_BYTES + 1];
        uint32_t file_no;

        (void)state;
        assert_int_equal(open_file(NULL, 4096, &file_no), -EINVAL);
        assert_int_equal(open_file("", 4096, &file_no), -EINVAL);
        assert_int_equal(open_file(".", 4096, &file_no), -EINVAL);
        assert_int_equal(open_file("..", 4096, &file_no), -EINVAL);
        assert_int_equal(open_file("a/b", 4096, &file_no), -EINVAL);
        assert_int_equal(open_file("/etc/passwd", 4096, &file_no), -EINVAL);
        assert_int_equal(open_file("xac.manifest", 4096, &file_no), -EINVAL);
        assert_int_equal(open_file("xac.", 4096, &file_no), -EINVAL);
        memset(longest, 'n', sizeof(longest));
        longest[MANIFEST_NAME_BYTES] = '\0';
        assert_int_equal(open_file(longest, 4096, &file_no), -ENAMETOOLONG);
        longest[MANIFEST_NAME_BYTES - 1] = '\0';
        assert_int_equal(open_file(longest, 4096, &file_no), 0);
        assert_numbers_agree();
}

static void test_lengths(void **state)
{
        uint32_t file_no, again;
        struct stat st;

        (void)state;
        assert_int_equal(open_file("missing", 0, &file_no), -ENOENT);
        put_file("empty", 0);
        assert_int_equal(open_file("empty", 0, &file_no), -EINVAL);
        assert_int_equal(open_file("huge", UINT64_MAX, &file_no), -EINVAL);

        assert_int_equal(open_file("grows", 1, &file_no), 0);
        assert_int_equal(files_byte_len(&engine->files, file_no), 4096);
        assert_int_equal(fstatat(engine->directory, "grows", &st, 0), 0);
        assert_int_equal(st.st_size, 4096);
        assert_int_equal(open_file("grows", 3 * 4096 + 1, &again), 0);
        assert_int_equal(again, file_no);
        assert_int_equal(files_byte_len(&engine->files, file_no), 4 * 4096);
        assert_int_equal(open_file("grows", 4096, &again), 0); /* never shrinks */
        assert_int_equal(files_byte_len(&engine->files, file_no), 4 * 4096);
        assert_int_equal(open_file("grows", 2 * ENGINE_PAGES * ENGINE_PAGE_BYTES, &again), -ENOMEM);
        assert_numbers_agree();
}

static void test_an_existing_file_is_mapped_as_it_is(void **state)
{
        uint32_t file_no;
        int fd = openat(engine->directory, "plain", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        (void)state;
        assert_int_equal(pwrite(fd, "hello", 5, 5000), 5);
        close(fd);
        assert_int_equal(open_file("plain", 0, &file_no), 0);
        assert_int_equal(files_byte_len(&engine->files, file_no), 8192);
        assert_memory_equal(files_version_bytes(&engine->files, page_id(file_no, 1), SLOT_HOME) + 904, "hello", 5);
}

static void put_bytes(const char *name, const char *bytes, uint64_t offset)
{
        int fd = openat(engine->directory, name, O_RDWR | O_CLOEXEC);
        assert_int_equal(pwrite(fd, bytes, strlen(bytes), (off_t)offset), strlen(bytes));
        close(fd);
}

static bool is_fresh(uint32_t file_no, uint64_t offset)
{
        return files_has_only_grown(&engine->files, page_id(file_no, offset / ENGINE_PAGE_BYTES));
}

/* What was never written is known to be zeros, however long the file was found. */
static void test_the_hole_in_which_a_file_ends(void **state)
{
        enum { LEN = 512 << 10, FIRST = 20 << 10, LAST = 300 << 10 };
        uint32_t file_no;

        (void)state;
        put_file("holes", LEN);
        put_bytes("holes", "first", FIRST);
        put_bytes("holes", "last", LAST);
        assert_int_equal(open_file("holes", 0, &file_no), 0);
        assert_false(is_fresh(file_no, 0));
        assert_false(is_fresh(file_no, FIRST));
        assert_false(is_fresh(file_no, LAST / 2)); /* a hole, but it does not end there */
        assert_false(is_fresh(file_no, LAST));
        assert_true(is_fresh(file_no, LAST + (128 << 10)));
        assert_true(is_fresh(file_no, LEN - ENGINE_PAGE_BYTES));

        put_file("all-hole", LEN);
        assert_int_equal(open_file("all-hole", 0, &file_no), 0);
        assert_true(is_fresh(file_no, 0));
        put_file("full", LEN);
        put_bytes("full", "last", LEN - 4);
        assert_int_equal(open_file("full", 0, &file_no), 0);
        assert_false(is_fresh(file_no, LEN - ENGINE_PAGE_BYTES));
}

/* What is a hole now may have been pages when somebody lost the checksums: nothing is known of it, either. */
static void test_without_checksums_a_hole_is_not_known(void **state)
{
        const uint64_t len = UINT64_C(64) << 20;
        uint32_t file_no, values[2];
        char name[CHECKSUMS_NAME_BYTES];

        (void)state;
        put_file("long", len);
        put_bytes("long", "first", 20 << 10);
        put_bytes("long", "last", len - 4);
        assert_int_equal(open_file("long", 0, &file_no), 0);
        checksums_name(file_no, name);
        const int fd = openat(engine->directory, name, O_RDONLY | O_CLOEXEC);
        assert_int_equal(checksums_read(fd, len / ENGINE_PAGE_BYTES - 2, values, 2, NULL), 0);
        assert_true(values[0] == CHECKSUMS_UNKNOWN && values[1] == CHECKSUMS_UNKNOWN);
        assert_int_equal(checksums_read(fd, 5, values, 2, NULL), 0);
        assert_true(values[0] == CHECKSUMS_UNKNOWN && values[1] == CHECKSUMS_UNKNOWN);
        close(fd);
}

static int fail_seek(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        return call == SYS_SEEK ? -EIO : 0;
}

/* Then nothing is known. */
static void test_a_file_system_that_knows_no_holes(void **state)
{
        uint32_t file_no;

        (void)state;
        put_file("holes", 512 << 10);
        sys_fail = fail_seek;
        assert_int_equal(open_file("holes", 0, &file_no), 0);
        sys_fail = NULL;
        assert_false(is_fresh(file_no, (512 << 10) - ENGINE_PAGE_BYTES));
}

static int fail_truncate(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        return call == SYS_TRUNCATE ? -ENOSPC : 0;
}

/* Others read as far as the entry says: so far there are checksums, and a grower who died has not been there. */
static void test_a_length_is_told_when_it_has_checksums(void **state)
{
        enum { LONG = 8 << 20 };
        static struct files others;
        uint32_t file_no, again;

        (void)state;
        put_file("long", LONG);
        sys_fail = fail_truncate;
        assert_int_equal(open_file("long", 0, &file_no), -ENOSPC);
        sys_fail = NULL;
        assert_int_equal(files_byte_len(&engine->files, atomic_load(&engine->shared.control->file_count) - 1), 0);
        assert_int_equal(open_file("long", 0, &file_no), 0);
        assert_int_equal(files_byte_len(&engine->files, file_no), LONG);

        assert_int_equal(open_file("short", 4096, &file_no), 0);
        put_file("short", LONG);
        files_init(&others, &engine->shared, engine->directory, LONG, 0);
        assert_int_equal(files_open(&others, "short", 0, &again), 0);
        assert_int_equal(again, file_no);
        assert_int_equal(files_byte_len(&engine->files, file_no), 4096);
        assert_int_equal(files_open(&others, "short", LONG, &again), 0);
        assert_int_equal(files_byte_len(&engine->files, file_no), LONG);
        files_close_all(&others);
}

static void test_no_directories_links_or_devices(void **state)
{
        uint32_t file_no;
        struct manifest manifest;

        (void)state;
        assert_int_equal(mkdirat(engine->directory, "folder", 0700), 0);
        assert_true(open_file("folder", 4096, &file_no) < 0);
        assert_int_equal(unlinkat(engine->directory, "folder", AT_REMOVEDIR), 0);
        assert_int_equal(symlinkat("data", engine->directory, "link"), 0);
        assert_int_equal(open_file("link", 4096, &file_no), -EINVAL);
        assert_int_equal(mkfifoat(engine->directory, "pipe", 0600), 0);
        assert_true(open_file("pipe", 4096, &file_no) < 0);
        assert_int_equal(manifest_read(engine->directory, &manifest), 0);
        assert_int_equal(manifest.file_count, 1);
}

static void test_as_many_files_as_there_are_numbers(void **state)
{
        uint32_t file_no;
        char name[16];

        (void)state;
        for (uint32_t i = 1; i < FILES_MAX; i++) {
                snprintf(name, sizeof(name), "file%u", i);
                assert_int_equal(open_file(name, 4096, &file_no), 0);
                assert_int_equal(file_no, i);
        }
        assert_int_equal(open_file("one-more", 4096, &file_no), XAC_LIMIT);
        assert_int_equal(open_file("file63", 8192, &file_no), 0);
        assert_int_equal(file_no, 63);
        assert_numbers_agree();
}

/* Whatever fails, the next file gets the number that belongs to its name. */
static void test_every_call_may_fail(void **state)
{
        (void)state;
        for (int nth = 1;; nth++) {
                char first[24], second[24];
                uint32_t file_no;
                int err;

                if (nth % 20 == 0) {
                        teardown(NULL);
                        setup(NULL);
                }
                snprintf(first, sizeof(first), "first%d", nth);
                snprintf(second, sizeof(second), "second%d", nth);
                scratch_fail(nth, -EIO, 0);
                err = open_file(first, 8192, &file_no);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        assert_true(nth > 8);
                        break;
                }
                assert_true(err == 0 || err == -EIO || err == -ENOMEM || err == -ENOSPC);
                assert_int_equal(shlock_owner(&engine->shared.control->file_lock), 0);
                assert_int_equal(open_file(second, 4096, &file_no), 0);
                assert_string_equal(engine->shared.control->file[file_no].name, second);
                assert_numbers_agree();
                assert_int_equal(open_file(first, 8192, &file_no), 0);
                assert_string_equal(engine->shared.control->file[file_no].name, first);
                assert_int_equal(files_byte_len(&engine->files, file_no), 8192);
                assert_numbers_agree();
        }
}

/* What is said of a path and a name of control characters has an end. */
static void test_a_line_may_be_long(void **state)
{
        static const char end[] = ": it is missing\n";
        char name[MANIFEST_NAME_BYTES], said[8192];
        struct line line = { .len = 0 };
        const int usual = dup(STDERR_FILENO);
        int ends[2];

        (void)state;
        memset(name, '\x01', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        dup2(ends[1], STDERR_FILENO);
        for (int i = 0; i < 5; i++)
                line_add(&line, name);
        line_add(&line, ": it is missing");
        line_print(&line);
        dup2(usual, STDERR_FILENO);
        const ssize_t said_len = read(ends[0], said, sizeof(said));
        assert_int_equal(said_len, 5 * SAFE_TEXT_MAX * strlen(name) + strlen(end));
        assert_memory_equal(said + said_len - strlen(end), end, strlen(end));
        close(usual);
        close(ends[0]);
        close(ends[1]);
}

#define FILES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILES_TEST(test_bad_names),
                FILES_TEST(test_lengths),
                FILES_TEST(test_an_existing_file_is_mapped_as_it_is),
                FILES_TEST(test_the_hole_in_which_a_file_ends),
                FILES_TEST(test_without_checksums_a_hole_is_not_known),
                FILES_TEST(test_a_file_system_that_knows_no_holes),
                FILES_TEST(test_a_length_is_told_when_it_has_checksums),
                FILES_TEST(test_no_directories_links_or_devices),
                FILES_TEST(test_as_many_files_as_there_are_numbers),
                FILES_TEST(test_every_call_may_fail),
                FILES_TEST(test_a_line_may_be_long),
        };

        return cmocka_run_group_tests_name("libxac/files", tests, NULL, NULL);
}
