/* SPDX-License-Identifier: MIT */
#include "recovery/manifest.h"

/*
 * The manifest: its bytes, what it refuses, and what is left after any call has failed. What is
 * read afterwards is always the old or the new one, never a mixture and never nothing.
 * (test_manifest_damage.c: power cuts, flipped bytes, short files.)
 */

#include "tests/recovery/manifest_image.h"

/* ---- The plain way ---- */

static void test_create_read_write(void **state)
{
        struct manifest manifest = sample(), other = sample(), back;

        (void)state;
        assert_int_equal(manifest_read(directory, &back), -ENOENT);
        assert_int_equal(manifest_read_settled(directory, &back), -ENOENT);
        create(&manifest);
        assert_int_equal(renameat(directory, MANIFEST_NAME, directory, "elsewhere"), 0);
        assert_int_equal(manifest_write(directory, &manifest), -ENOENT);
        assert_int_equal(renameat(directory, "elsewhere", directory, MANIFEST_NAME), 0);
        assert_int_equal(manifest.generation, 1);
        back = read_back();
        assert_same(&back, &manifest);

        assert_int_equal(manifest_create(directory, &other), -EEXIST);
        for (int file = 0; file < MANIFEST_FILES; file++) {
                char name[MANIFEST_NAME_BYTES];

                snprintf(name, sizeof(name), "%0*d", file == 7 ? MANIFEST_NAME_BYTES - 1 : 3, file);
                add_file(&manifest, name);
                assert_int_equal(manifest_write(directory, &manifest), 0);
                assert_int_equal(manifest.generation, file + 2);
                back = read_back();
                assert_same(&back, &manifest);
        }
        assert_slots_agree();
}

static void test_a_fresh_one_begins_an_empty_log(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        manifest.buffer_checksum = 5;
        create(&manifest);
        back = read_back();
        assert_int_equal(back.segment_bytes, 64 * 1024);
        assert_int_equal(back.base_sequence, 1);
        assert_int_equal(back.base_position, back.segment_bytes); /* segment 1: position 0 means none */
        assert_int_equal(back.redo_position, back.segment_bytes);
        assert_int_equal(back.incarnation, 1);
        assert_int_equal(back.buffer, -1);
        assert_int_equal(back.buffer_checksum, 0);
        assert_int_equal(back.is_clean, 1);
}

static void test_every_environment_has_its_own_uuid(void **state)
{
        struct manifest one = sample(), two = sample();

        (void)state;
        create(&one);
        scratch_empty(directory);
        create(&two);
        assert_memory_not_equal(one.uuid, two.uuid, sizeof(one.uuid));
}

static void test_mode_is_exact_whatever_the_umask(void **state)
{
        static const mode_t modes[] = { 0600, 0640, 0666 };
        mode_t before = umask(077);

        (void)state;
        for (int i = 0; i < 3; i++) {
                struct manifest manifest = sample();
                struct stat st;

                manifest.mode = modes[i];
                create(&manifest);
                assert_int_equal(fstatat(directory, MANIFEST_NAME, &st, 0), 0);
                assert_int_equal(st.st_mode & 07777, modes[i]);
                assert_int_equal(st.st_nlink, 1);
                scratch_empty(directory);
        }
        umask(before);
}

/* A slot as manifest_slot.h describes it, but for the checksum. */
static void describe(unsigned char *bytes, int slot)
{
        static const unsigned char head[16] = { 'X', 'A', 'C', 'M', 'A', 'N', 'I', 'F', 4 };

        memcpy(bytes, head, sizeof(head));
        bytes[16] = 5, bytes[23] = 1; /* generation 5 + 2^56 */
        for (int i = 0; i < 16; i++)
                bytes[24 + i] = (unsigned char)(0xa0 + i);
        bytes[41] = 0x20;                   /* page_bytes 8192 */
        bytes[44] = 0x02, bytes[45] = 0x40; /* max_participants 2 + 16384 */
        bytes[48] = 0xa0, bytes[49] = 0x01; /* mode 0640 */
        bytes[52] = 2;
        bytes[56] = (unsigned char)slot;      /* the second slot was written second */
        bytes[60] = 7, bytes[63] = 1;         /* incarnation 7 + 2^24 */
        bytes[66] = 2;                        /* segment_bytes 128 Ki */
        bytes[72] = 9, bytes[77] = 1;         /* base_sequence 9 + 2^40 */
        bytes[81] = 16, bytes[85] = 3;        /* base_position 4096 + 3 * 2^40 */
        bytes[93] = 3;                        /* redo_position 3 * 2^40 */
        memset(bytes + 96, 0xff, 4);          /* double-write buffer: none */
        bytes[100] = 0xc0, bytes[103] = 0xde; /* buffer_checksum */
        bytes[104] = 1;                       /* is_clean */
        memcpy(bytes + 128, "accounts", 8);
        memcpy(bytes + 128 + 256, "log", 3);
        bytes[16513] = 9, bytes[16516] = 2; /* "accounts" has 2 units from 9 * 2^8 on */
}

/* The bytes are the format: a change of them must be a change of its version. */
static void test_the_bytes_are_as_described(void **state)
{
        static unsigned char expected[FILE_BYTES];
        struct manifest back;

        (void)state;
        memset(image, 0, sizeof(image));
        for (int slot = 0; slot < 2; slot++) {
                unsigned char *bytes = image + slot * SLOT_BYTES;

                describe(bytes, slot);
                seal(slot);
        }
        store_image(FILE_BYTES);
        back = read_back();
        assert_true(back.generation == (UINT64_C(1) << 56) + 5);
        assert_int_equal(back.uuid[15], 0xaf);
        assert_int_equal(back.page_bytes, 8192);
        assert_int_equal(back.max_participants, 16386);
        assert_int_equal(back.mode, 0640);
        assert_int_equal(back.file_count, 2);
        assert_int_equal(back.incarnation, (1 << 24) + 7);
        assert_int_equal(back.segment_bytes, 128 * 1024);
        assert_true(back.base_sequence == (UINT64_C(1) << 40) + 9);
        assert_true(back.base_position == (UINT64_C(3) << 40) + 4096);
        assert_true(back.redo_position == UINT64_C(3) << 40);
        assert_int_equal(back.buffer, -1);
        assert_int_equal(back.buffer_checksum, 0xde0000c0);
        assert_int_equal(back.is_clean, 1);
        assert_string_equal(back.file_name[0], "accounts");
        assert_string_equal(back.file_name[1], "log");
        assert_int_equal(back.file_place[0].first, 9 << 8);
        assert_int_equal(back.file_place[0].units, 2);
        assert_int_equal(back.file_place[1].first | back.file_place[1].units, 0);

        /* And the writer makes the same bytes again, but for the generation. */
        memset(back.file_name[1] + 4, 'x', 9); /* behind the name's end: not for the file */
        assert_int_equal(manifest_write(directory, &back), 0);
        image[16] = image[SLOT_BYTES + 16] = 6;
        image[56] = 1, image[SLOT_BYTES + 56] = 0; /* and the second slot's turn comes first */
        seal(0);
        seal(1);
        memcpy(expected, image, FILE_BYTES);
        load_image();
        assert_memory_equal(image, expected, FILE_BYTES);
}

/* ---- Nonsense ---- */

static void nonsense_page_bytes(struct manifest *m)
{
        m->page_bytes = 12288;
}
static void nonsense_small_page(struct manifest *m)
{
        m->page_bytes = 2048;
}
static void nonsense_large_page(struct manifest *m)
{
        m->page_bytes = 131072;
}
static void nonsense_participants(struct manifest *m)
{
        m->max_participants = 0;
}
static void nonsense_mode(struct manifest *m)
{
        m->mode = 04755;
}
static void nonsense_count(struct manifest *m)
{
        m->file_count = MANIFEST_FILES + 1;
}
static void nonsense_slash(struct manifest *m)
{
        add_file(m, "../etc/passwd");
}
static void nonsense_dots(struct manifest *m)
{
        add_file(m, "..");
}
static void nonsense_empty(struct manifest *m)
{
        add_file(m, "");
}
static void nonsense_endless(struct manifest *m)
{
        memset(m->file_name[m->file_count++], 'n', MANIFEST_NAME_BYTES);
}

static void nonsense_own(struct manifest *m)
{
        add_file(m, "xac.log.1");
}
static void nonsense_twice(struct manifest *m)
{
        add_file(m, "twice");
        add_file(m, "other");
        add_file(m, "twice");
}
static void nonsense_many_participants(struct manifest *m)
{
        m->max_participants = MANIFEST_PARTICIPANTS + 1;
}

static void nonsense_place(struct manifest *m)
{
        add_file(m, "placed");
        m->file_place[0] = (struct manifest_place){ (1U << 30) - 1, 2 };
}
static void nonsense_no_place(struct manifest *m)
{
        add_file(m, "placed");
        m->file_place[0] = (struct manifest_place){ 1, 0 };
}

static void nonsense_segment(struct manifest *m)
{
        m->segment_bytes += 512;
}
static void nonsense_small_segment(struct manifest *m)
{
        m->segment_bytes = 60 * 1024;
}
static void nonsense_large_segment(struct manifest *m)
{
        m->segment_bytes = (64 << 20) + 4096;
}

static void (*const nonsense[])(struct manifest *) = {
        nonsense_page_bytes,   nonsense_small_page,    nonsense_large_page,
        nonsense_participants, nonsense_mode,          nonsense_count,
        nonsense_slash,        nonsense_dots,          nonsense_empty,
        nonsense_endless,      nonsense_place,         nonsense_no_place,
        nonsense_segment,      nonsense_small_segment, nonsense_large_segment,
        nonsense_own,          nonsense_twice,         nonsense_many_participants,
};

/* What a fresh manifest gets by itself. */
static void nonsense_sequence(struct manifest *m)
{
        m->base_sequence = 0;
}
static void nonsense_base(struct manifest *m)
{
        m->base_position = UINT64_MAX - 7;
}
static void nonsense_uneven_base(struct manifest *m)
{
        m->base_position++;
}
static void nonsense_clean_base(struct manifest *m)
{
        m->base_position += 8;
}
static void nonsense_redo(struct manifest *m)
{
        m->redo_position = m->base_position + 8;
}
static void nonsense_redo_before_the_log(struct manifest *m)
{
        m->redo_position = m->segment_bytes - 8;
}
static void nonsense_incarnation(struct manifest *m)
{
        m->incarnation = 0;
}
static void nonsense_buffer(struct manifest *m)
{
        m->buffer = 2;
}
static void nonsense_negative_buffer(struct manifest *m)
{
        m->buffer = -2;
}
static void nonsense_clean(struct manifest *m)
{
        m->is_clean = 2;
}

static void nonsense_old_target(struct manifest *m)
{
        m->is_clean = 0;
        m->buffer = 0;
        m->target_sequence = m->base_sequence;
}
static void nonsense_target_without_buffer(struct manifest *m)
{
        m->is_clean = 0;
        m->target_sequence = m->base_sequence + 1;
}
static void nonsense_clean_target(struct manifest *m)
{
        m->buffer = 0;
        m->target_sequence = m->base_sequence + 1;
}

static void (*const log_nonsense[])(struct manifest *) = {
        nonsense_sequence,     nonsense_base,       nonsense_uneven_base,
        nonsense_clean_base,   nonsense_redo,       nonsense_redo_before_the_log,
        nonsense_incarnation,  nonsense_buffer,     nonsense_negative_buffer,
        nonsense_clean,        nonsense_old_target, nonsense_target_without_buffer,
        nonsense_clean_target,
};

enum {
        NONSENSE = sizeof(nonsense) / sizeof(nonsense[0]),
        LOG_NONSENSE = sizeof(log_nonsense) / sizeof(log_nonsense[0])
};

static void test_nonsense_is_not_written(void **state)
{
        struct manifest good = sample();

        (void)state;
        for (int i = 0; i < NONSENSE; i++) {
                struct manifest bad = sample();

                nonsense[i](&bad);
                assert_int_equal(manifest_create(directory, &bad), -EINVAL);
        }
        assert_int_equal(manifest_read(directory, &good), -ENOENT);
        create(&good);
        for (int i = 0; i < NONSENSE + LOG_NONSENSE; i++) {
                struct manifest bad = good, back;

                (i < NONSENSE ? nonsense[i] : log_nonsense[i - NONSENSE])(&bad);
                assert_int_equal(manifest_write(directory, &bad), -EINVAL);
                back = read_back();
                assert_same(&back, &good);
        }
}

static void put_u32(int at, uint32_t value)
{
        for (int slot = 0; slot < 2; slot++) {
                for (int i = 0; i < 4; i++)
                        image[slot * SLOT_BYTES + at + i] = (unsigned char)(value >> (8 * i));
                seal(slot);
        }
}

static void assert_nonsense_refused(int at, uint32_t value)
{
        struct manifest back;

        load_image();
        put_u32(at, value);
        store_image(FILE_BYTES);
        assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
}

static void test_nonsense_with_a_right_checksum_is_not_believed(void **state)
{
        static const struct {
                int at;
                uint32_t value;
        } wrong[] = {
                { 40, 12288 },
                { 40, 2048 },
                { 40, 131072 },
                { 40, 0 },
                { 44, 0 },
                { 48, 04755 },
                { 52, 65 },
                { 16512, 1 },          /* no units there */
                { 16516, 0x40000001 }, /* too many */
                { 128, '/' },
                { 128, 0 },
                { 128, '.' },
                { 128, '.' | '.' << 8 },
                { 60, 0 },
                { 64, 32768 },
                { 64, 65536 + 512 },
                { 68, 1 },
                { 72, 0 },
                { 76, 0x7fffffff },
                { 80, 0 },
                { 80, 65537 },
                { 84, 0x7fffffff },
                { 88, 8 },
                { 88, 65540 },
                { 92, 1 },
                { 96, 2 },
                { 96, 0xfffffffe },
                { 104, 2 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct manifest manifest = sample(), back;

                add_file(&manifest, "a");
                scratch_empty(directory);
                create(&manifest);
                back = read_back();
                assert_same(&back, &manifest);
                assert_nonsense_refused(wrong[i].at, wrong[i].value);
        }
}

/* Positions of the log are added to it. */
static void test_what_is_held_is_bounded(void **state)
{
        static const uint64_t held[][2] = { { 5, 5 },
                                            { MANIFEST_HELD_MAX, MANIFEST_HELD_MAX },
                                            { UINT64_MAX, MANIFEST_HELD_MAX } };
        struct manifest manifest = sample();

        (void)state;
        create(&manifest);
        for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
                manifest.archive.held_bytes = held[i][0];
                assert_int_equal(manifest_write(directory, &manifest), 0);
                assert_true(read_back().archive.held_bytes == held[i][1]);
        }
}

/* While a checkpoint goes home in batches an older library must not open it, and afterwards it may. */
static void test_a_target_raises_the_version(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        create(&manifest);
        manifest.is_clean = 0;
        manifest.buffer = 1;
        manifest.target_sequence = manifest.base_sequence + 41;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        back = read_back();
        assert_int_equal(back.target_sequence, manifest.target_sequence);
        load_image();
        assert_int_equal(image[8], 5);
        assert_int_equal(image[112], 42);
        manifest.target_sequence = 0;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        back = read_back();
        assert_int_equal(back.target_sequence, 0);
        load_image();
        assert_int_equal(image[8], 4);
}

static void test_a_stale_writer_is_refused(void **state)
{
        struct manifest first = sample(), second, back;

        (void)state;
        create(&first);
        second = first;
        add_file(&second, "second");
        assert_int_equal(manifest_write(directory, &second), 0);
        assert_int_equal(manifest_write(directory, &first), -ESTALE);
        assert_int_equal(first.generation, 1);
        back = read_back();
        assert_same(&back, &second);
}

/* ---- Failing calls ---- */

static int entries_in_directory(void)
{
        DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        int count = -2; /* without . and .. */

        while (readdir(entries) != NULL)
                count++;
        closedir(entries);
        return count;
}

/* All but munmap, whose failure nobody need hear of. */
static int fail_call(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        return call == SYS_MUNMAP ? 0 : scratch_failure(call, fd, offset, byte_len);
}

static void fail_from(int nth, int for_good)
{
        scratch_fail(nth, -EIO, for_good);
        sys_fail = fail_call;
}

static void test_create_with_every_call_failing(void **state)
{
        (void)state;
        for (int for_good = 0; for_good < 2; for_good++)
                for (int nth = 1;; nth++) {
                        struct manifest manifest = sample(), found;
                        int err, read_err;

                        scratch_empty(directory);
                        fail_from(nth, for_good);
                        err = manifest_create(directory, &manifest);
                        if (!scratch_failed()) {
                                assert_int_equal(err, 0);
                                break;
                        }
                        read_err = manifest_read(directory, &found);
                        if (err == 0 || read_err == 0) {
                                assert_int_equal(read_err, 0);
                                assert_same(&found, &manifest);
                                continue;
                        }
                        assert_int_equal(err, -EIO);
                        assert_int_equal(read_err, -ENOENT);
                        if (!for_good)
                                assert_int_equal(entries_in_directory(), 0);
                        create(&manifest); /* what lies about is not in the way */
                        assert_int_equal(entries_in_directory(), 1);
                }
}

static void test_write_with_every_call_failing(void **state)
{
        (void)state;
        for (int for_good = 0; for_good < 2; for_good++)
                for (int nth = 1;; nth++) {
                        struct manifest before = sample(), manifest, wanted, found;
                        int err;

                        scratch_empty(directory);
                        create(&before);
                        manifest = before;
                        add_file(&manifest, "new");
                        wanted = manifest;
                        wanted.generation++;
                        fail_from(nth, for_good);
                        err = manifest_write(directory, &manifest);
                        if (!scratch_failed()) {
                                assert_int_equal(err, 0);
                                break;
                        }
                        assert_int_equal(err, -EIO);
                        assert_int_equal(manifest.generation, before.generation);
                        found = read_back();
                        if (memcmp(&found, &before, sizeof(found)) != 0)
                                assert_same(&found, &wanted);
                        assert_int_equal(manifest_write(directory, &found), 0);
                }
}

/* The slots differ, as a writer that died leaves them. */
static void test_settling_with_every_call_failing(void **state)
{
        (void)state;
        for (int nth = 1;; nth++) {
                struct manifest before = sample(), after, found;
                int err;

                scratch_empty(directory);
                create(&before);
                load_image();
                after = before;
                add_file(&after, "new");
                assert_int_equal(manifest_write(directory, &after), 0);
                store_bytes(0, SLOT_BYTES); /* the write went to the second slot first */
                fail_from(nth, 0);
                err = manifest_read_settled(directory, &found);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        assert_same(&found, &after);
                        assert_slots_agree();
                        break;
                }
                assert_int_equal(err, -EIO);
                found = read_back();
                assert_same(&found, &after);
        }
}

static void test_read_with_every_call_failing(void **state)
{
        struct manifest manifest = sample();

        (void)state;
        create(&manifest);
        for (int nth = 1;; nth++) {
                struct manifest found;
                int err;

                fail_from(nth, 0);
                err = manifest_read(directory, &found);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        break;
                }
                assert_int_equal(err, -EIO);
        }
}

/* A crash between link and unlink leaves the manifest with a second name; a crash before, a
 * half-made one. Neither may harm what comes after. */
static void test_create_after_a_crash_in_create(void **state)
{
        struct manifest manifest = sample(), other = sample(), back;
        int fd;

        (void)state;
        create(&manifest);
        assert_int_equal(linkat(directory, MANIFEST_NAME, directory, MANIFEST_NAME ".new", 0), 0);
        assert_int_equal(manifest_create(directory, &other), -EEXIST);
        back = read_back();
        assert_same(&back, &manifest);
        assert_int_equal(unlinkat(directory, MANIFEST_NAME, 0), 0);

        fd = openat(directory, MANIFEST_NAME ".new", O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, "half", 4), 4);
        close(fd);
        create(&other);
        back = read_back();
        assert_same(&back, &other);
        assert_int_equal(entries_in_directory(), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                MANIFEST_TEST(test_create_read_write),
                MANIFEST_TEST(test_a_fresh_one_begins_an_empty_log),
                MANIFEST_TEST(test_every_environment_has_its_own_uuid),
                MANIFEST_TEST(test_mode_is_exact_whatever_the_umask),
                MANIFEST_TEST(test_the_bytes_are_as_described),
                MANIFEST_TEST(test_nonsense_is_not_written),
                MANIFEST_TEST(test_nonsense_with_a_right_checksum_is_not_believed),
                MANIFEST_TEST(test_what_is_held_is_bounded),
                MANIFEST_TEST(test_a_target_raises_the_version),
                MANIFEST_TEST(test_a_stale_writer_is_refused),
                MANIFEST_TEST(test_create_with_every_call_failing),
                MANIFEST_TEST(test_write_with_every_call_failing),
                MANIFEST_TEST(test_settling_with_every_call_failing),
                MANIFEST_TEST(test_read_with_every_call_failing),
                MANIFEST_TEST(test_create_after_a_crash_in_create),
        };

        return cmocka_run_group_tests_name("recovery/manifest", tests, directory_setup, directory_teardown);
}
