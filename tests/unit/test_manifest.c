/* SPDX-License-Identifier: MIT */
#include "recovery/manifest.h"

/*
 * The manifest survives: failures of any call, torn writes, flipped bytes, short files. What
 * is read afterwards is always the old or the new one, never a mixture and never nothing.
 */

#include "tests/unit/scratch.h"

#include <stdbool.h>

#include <xac/xac.h>

#include "base/checksum.h"

enum { SLOT_BYTES = 32 * 1024, FILE_BYTES = 2 * SLOT_BYTES };

static int directory;
static unsigned char image[FILE_BYTES]; /* of the file, to damage and to put back */

static int group_setup(void **state)
{
        directory = scratch_make(state);
        return directory < 0;
}

static int group_teardown(void **state)
{
        scratch_remove(directory, state);
        return 0;
}

static int setup(void **state)
{
        (void)state;
        sys_fail = NULL;
        scratch_empty(directory);
        return 0;
}

static struct manifest sample(void)
{
        return (struct manifest){.page_bytes = 4096, .max_participants = 1024, .mode = 0600};
}

static void add_file(struct manifest *manifest, const char *name)
{
        snprintf(manifest->file_name[manifest->file_count++], MANIFEST_NAME_BYTES, "%s", name);
}

static void create(struct manifest *manifest)
{
        assert_int_equal(manifest_create(directory, manifest), 0);
}

static struct manifest read_back(void)
{
        struct manifest manifest;

        memset(&manifest, 0xee, sizeof(manifest));
        assert_int_equal(manifest_read(directory, &manifest), 0);
        return manifest;
}

static void assert_same(const struct manifest *a, const struct manifest *b)
{
        assert_memory_equal(a, b, sizeof(*a));
}

static void load_image(void)
{
        int fd = openat(directory, MANIFEST_NAME, O_RDONLY | O_CLOEXEC);
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, FILE_BYTES);
        assert_int_equal(pread(fd, image, FILE_BYTES, 0), FILE_BYTES);
        close(fd);
}

static void store_image(size_t byte_len)
{
        int fd = openat(directory, MANIFEST_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_int_equal(ftruncate(fd, (off_t)byte_len), 0);
        assert_int_equal(pwrite(fd, image, byte_len, 0), byte_len);
        close(fd);
}

static void store_bytes(size_t offset, size_t byte_len)
{
        int fd = openat(directory, MANIFEST_NAME, O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite(fd, image + offset, byte_len, (off_t)offset), byte_len);
        close(fd);
}

/* The slots differ in whose turn it was, and so in the checksum. */
static void assert_slots_agree(void)
{
        load_image();
        assert_memory_equal(image, image + SLOT_BYTES, 12);
        assert_memory_equal(image + 16, image + SLOT_BYTES + 16, 40);
        assert_int_equal(image[56] + image[SLOT_BYTES + 56], 1);
        assert_memory_equal(image + 60, image + SLOT_BYTES + 60, SLOT_BYTES - 60);
}

/* Makes the checksum of a slot of the image right again. */
static void seal(int slot)
{
        unsigned char *bytes = image + slot * SLOT_BYTES;
        uint32_t crc = checksum_crc32c(checksum_crc32c(0, bytes, 12), bytes + 16, SLOT_BYTES - 16);

        for (int i = 0; i < 4; i++)
                bytes[12 + i] = (unsigned char)(crc >> (8 * i));
}

/* ---- The plain way ---- */

static void test_create_read_write(void **state)
{
        struct manifest manifest = sample(), other = sample(), back;

        (void)state;
        assert_int_equal(manifest_read(directory, &back), -ENOENT);
        manifest.generation = 1;
        assert_int_equal(manifest_write(directory, &manifest), -ENOENT);
        manifest.generation = 0;
        create(&manifest);
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
        static const mode_t modes[] = {0600, 0640, 0666};
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

/* The bytes are the format: a change of them must be a change of its version. */
static void test_the_bytes_are_as_described(void **state)
{
        static const unsigned char head[16] = {'X', 'A', 'C', 'M', 'A', 'N', 'I', 'F', 1};
        static unsigned char expected[FILE_BYTES];
        struct manifest back;

        (void)state;
        memset(image, 0, sizeof(image));
        for (int slot = 0; slot < 2; slot++) {
                unsigned char *bytes = image + slot * SLOT_BYTES;

                memcpy(bytes, head, sizeof(head));
                bytes[16] = 5, bytes[23] = 1;           /* generation 5 + 2^56 */
                for (int i = 0; i < 16; i++)
                        bytes[24 + i] = (unsigned char)(0xa0 + i);
                bytes[41] = 0x20;                       /* page_bytes 8192 */
                bytes[44] = 0x02, bytes[46] = 1;        /* max_participants 2 + 65536 */
                bytes[48] = 0xa0, bytes[49] = 0x01;     /* mode 0640 */
                bytes[52] = 2;
                bytes[56] = (unsigned char)slot;        /* the second slot was written second */
                memcpy(bytes + 64, "accounts", 8);
                memcpy(bytes + 64 + 256, "log", 3);
                seal(slot);
        }
        store_image(FILE_BYTES);
        back = read_back();
        assert_true(back.generation == (UINT64_C(1) << 56) + 5);
        assert_int_equal(back.uuid[15], 0xaf);
        assert_int_equal(back.page_bytes, 8192);
        assert_int_equal(back.max_participants, 65538);
        assert_int_equal(back.mode, 0640);
        assert_int_equal(back.file_count, 2);
        assert_string_equal(back.file_name[0], "accounts");
        assert_string_equal(back.file_name[1], "log");

        /* And the writer makes the same bytes again, but for the generation. */
        memset(back.file_name[1] + 4, 'x', 9); /* behind the name's end: not for the file */
        assert_int_equal(manifest_write(directory, &back), 0);
        image[16] = image[SLOT_BYTES + 16] = 6;
        image[56] = 1, image[SLOT_BYTES + 56] = 0;      /* and the second slot's turn comes first */
        seal(0);
        seal(1);
        memcpy(expected, image, FILE_BYTES);
        load_image();
        assert_memory_equal(image, expected, FILE_BYTES);
}

/* ---- Nonsense ---- */

static void nonsense_page_bytes(struct manifest *m) { m->page_bytes = 12288; }
static void nonsense_small_page(struct manifest *m) { m->page_bytes = 2048; }
static void nonsense_large_page(struct manifest *m) { m->page_bytes = 131072; }
static void nonsense_participants(struct manifest *m) { m->max_participants = 0; }
static void nonsense_mode(struct manifest *m) { m->mode = 04755; }
static void nonsense_count(struct manifest *m) { m->file_count = MANIFEST_FILES + 1; }
static void nonsense_slash(struct manifest *m) { add_file(m, "../etc/passwd"); }
static void nonsense_dots(struct manifest *m) { add_file(m, ".."); }
static void nonsense_empty(struct manifest *m) { add_file(m, ""); }
static void nonsense_endless(struct manifest *m)
{
        memset(m->file_name[m->file_count++], 'n', MANIFEST_NAME_BYTES);
}

static void (*const nonsense[])(struct manifest *) = {
    nonsense_page_bytes, nonsense_small_page, nonsense_large_page, nonsense_participants, nonsense_mode,
    nonsense_count,      nonsense_slash,      nonsense_dots,       nonsense_empty,        nonsense_endless,
};

enum { NONSENSE = sizeof(nonsense) / sizeof(nonsense[0]) };

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
        for (int i = 0; i < NONSENSE; i++) {
                struct manifest bad = good, back;

                nonsense[i](&bad);
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
        static const struct { int at; uint32_t value; } wrong[] = {
            {40, 12288}, {40, 2048}, {40, 131072}, {40, 0}, {44, 0}, {48, 04755}, {52, 65},
            {64, '/'}, {64, 0}, {64, '.'}, {64, '.' | '.' << 8},
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

/* ---- Damage ---- */

static void test_every_byte_of_a_slot_counts(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        add_file(&manifest, "accounts");
        create(&manifest);
        load_image();
        for (size_t at = 0; at < FILE_BYTES; at += at % SLOT_BYTES < 96 ? 1 : 331) {
                size_t twin = (at + SLOT_BYTES) % FILE_BYTES;
                unsigned char flip = (unsigned char)(1 << at % 8);

                image[at] ^= flip;
                store_bytes(at, 1);
                back = read_back(); /* the other slot */
                assert_same(&back, &manifest);
                image[twin] ^= flip;
                store_bytes(twin, 1);
                assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
                image[at] ^= flip;
                image[twin] ^= flip;
                store_bytes(at, 1);
                store_bytes(twin, 1);
        }
}

static void test_another_version(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        create(&manifest);
        load_image();
        image[8] = 2;
        seal(0);
        store_image(FILE_BYTES);
        back = read_back(); /* one slot of ours is enough */
        assert_same(&back, &manifest);

        image[SLOT_BYTES + 100] ^= 1; /* ours is damaged: the other one is no damage */
        store_image(FILE_BYTES);
        assert_int_equal(manifest_read(directory, &back), XAC_FORMAT);
        assert_int_equal(manifest_write(directory, &manifest), XAC_FORMAT);

        image[40] ^= 1; /* without a right checksum it is no version at all */
        store_image(FILE_BYTES);
        assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
}

static void test_a_short_file(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        create(&manifest);
        load_image();
        store_image(FILE_BYTES - 1);
        back = read_back();
        assert_same(&back, &manifest);
        store_image(SLOT_BYTES);
        back = read_back();
        assert_same(&back, &manifest);
        store_image(SLOT_BYTES - 1);
        assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
        store_image(0);
        assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
}

/* Writing heals a damaged slot. */
static void test_write_repairs(void **state)
{
        (void)state;
        for (int slot = 0; slot < 2; slot++) {
                struct manifest manifest = sample(), back;

                scratch_empty(directory);
                create(&manifest);
                load_image();
                image[slot * SLOT_BYTES + 20] ^= 1;
                store_image(FILE_BYTES);
                add_file(&manifest, "more");
                assert_int_equal(manifest_write(directory, &manifest), 0);
                back = read_back();
                assert_same(&back, &manifest);
                assert_slots_agree();
        }
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

/* ---- Power cuts ---- */

/*
 * R18. What the disk holds after a power cut: all writes that were synced, and any sectors of
 * the one that was not. A disk that refuses to sync is the other danger: the page cache then
 * shows a manifest that the disk has not got. Both are tried at every write, and again at
 * every write of the attempt that follows.
 */
enum { SECTOR = 512, SECTORS = SLOT_BYTES / SECTOR, WRITES_MAX = 3, ROUNDS = 2 };

struct slot_write {
        uint64_t offset;
        unsigned char bytes[SLOT_BYTES];
};

static struct slot_write recorded[WRITES_MAX];
static int recorded_count;
static bool is_unsynced;

static int record(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        if (call == SYS_PWRITE) {
                assert_false(is_unsynced); /* one slot at a time */
                assert_true(recorded_count < WRITES_MAX && byte_len == SLOT_BYTES);
                recorded[recorded_count].offset = offset;
                is_unsynced = true;
        } else if (call == SYS_SYNC) {
                struct slot_write *write = &recorded[recorded_count++];

                assert_true(is_unsynced);
                is_unsynced = false;
                assert_int_equal(pread(fd, write->bytes, SLOT_BYTES, (off_t)write->offset), SLOT_BYTES);
        }
        return 0;
}

/* Which sectors of a torn write reached the disk. */
static bool none(int sector) { return sector < 0; }
static bool first(int sector) { return sector == 0; }
static bool all_but_first(int sector) { return sector != 0; }
static bool front(int sector) { return sector < 10; }
static bool back(int sector) { return sector >= 10; }
static bool odd(int sector) { return sector % 2; }
static bool all(int sector) { return sector >= 0; }

static bool (*const tears[])(int sector) = {none, first, all_but_first, front, back, odd, all};

static void apply(unsigned char *disk, const struct slot_write *write, bool (*reached)(int sector))
{
        for (int sector = 0; sector < SECTORS; sector++)
                if (reached(sector))
                        memcpy(disk + write->offset + sector * SECTOR, write->bytes + sector * SECTOR,
                               SECTOR);
}

static struct manifest read_image(const unsigned char *bytes)
{
        memcpy(image, bytes, FILE_BYTES);
        store_image(FILE_BYTES);
        return read_back();
}

static void cut_everywhere(const unsigned char *disk, const unsigned char *cache, int rounds);

/* The power fails during the last of these writes, then (more rounds) so it does in the next
 * attempt; or the sync fails, and the next attempt finds all of the write in the cache. */
static void cut_during(const unsigned char *disk, const struct slot_write *writes, int count,
                       const struct manifest *allowed, int rounds)
{
        unsigned char *torn = malloc(FILE_BYTES), *cache = malloc(FILE_BYTES);

        for (size_t tear = 0; tear < sizeof(tears) / sizeof(tears[0]); tear++) {
                struct manifest found;

                memcpy(torn, disk, FILE_BYTES);
                for (int i = 0; i < count; i++)
                        apply(torn, &writes[i], i == count - 1 ? tears[tear] : all);
                memcpy(cache, torn, FILE_BYTES);
                apply(cache, &writes[count - 1], all);
                found = read_image(torn);
                if (memcmp(&found, &allowed[0], sizeof(found)) != 0 &&
                    memcmp(&found, &allowed[1], sizeof(found)) != 0)
                        assert_same(&found, &allowed[2]);
                if (rounds > 1) {
                        cut_everywhere(torn, torn, rounds - 1);
                        cut_everywhere(torn, cache, rounds - 1);
                }
        }
        free(torn);
        free(cache);
}

static void cut_everywhere(const unsigned char *disk, const unsigned char *cache, int rounds)
{
        struct manifest allowed[3] = {read_image(disk), read_image(cache)};
        struct slot_write *writes = malloc(sizeof(recorded));
        int count;

        allowed[2] = allowed[1];
        add_file(&allowed[2], rounds == ROUNDS ? "first" : "second");
        recorded_count = 0;
        sys_fail = record;
        assert_int_equal(manifest_write(directory, &allowed[2]), 0);
        sys_fail = NULL;
        assert_true(recorded_count >= 2);
        count = recorded_count;
        memcpy(writes, recorded, sizeof(recorded));
        for (int i = 1; i <= count; i++)
                cut_during(disk, writes, i, allowed, rounds);
        free(writes);
}

static void test_a_power_cut_leaves_the_old_or_the_new_one(void **state)
{
        struct manifest manifest = sample();
        unsigned char *begin = malloc(FILE_BYTES);

        (void)state;
        for (int file = 0; file < 40; file++) /* so that a change is in the first sector and in a later one */
                add_file(&manifest, "old");
        create(&manifest);
        load_image();
        memcpy(begin, image, FILE_BYTES);
        cut_everywhere(begin, begin, ROUNDS);
        free(begin);
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

static void test_create_with_every_call_failing(void **state)
{
        (void)state;
        for (int for_good = 0; for_good < 2; for_good++)
                for (int nth = 1;; nth++) {
                        struct manifest manifest = sample(), found;
                        int err, read_err;

                        scratch_empty(directory);
                        scratch_fail(nth, -EIO, for_good);
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
                        scratch_fail(nth, -EIO, for_good);
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

static void test_read_with_every_call_failing(void **state)
{
        struct manifest manifest = sample();

        (void)state;
        create(&manifest);
        for (int nth = 1;; nth++) {
                struct manifest found;
                int err;

                scratch_fail(nth, -EIO, 0);
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

#define MANIFEST_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MANIFEST_TEST(test_create_read_write),
            MANIFEST_TEST(test_every_environment_has_its_own_uuid),
            MANIFEST_TEST(test_mode_is_exact_whatever_the_umask),
            MANIFEST_TEST(test_the_bytes_are_as_described),
            MANIFEST_TEST(test_nonsense_is_not_written),
            MANIFEST_TEST(test_nonsense_with_a_right_checksum_is_not_believed),
            MANIFEST_TEST(test_every_byte_of_a_slot_counts),
            MANIFEST_TEST(test_another_version),
            MANIFEST_TEST(test_a_short_file),
            MANIFEST_TEST(test_write_repairs),
            MANIFEST_TEST(test_a_stale_writer_is_refused),
            MANIFEST_TEST(test_a_power_cut_leaves_the_old_or_the_new_one),
            MANIFEST_TEST(test_create_with_every_call_failing),
            MANIFEST_TEST(test_write_with_every_call_failing),
            MANIFEST_TEST(test_read_with_every_call_failing),
            MANIFEST_TEST(test_create_after_a_crash_in_create),
        };

        return cmocka_run_group_tests_name("recovery/manifest", tests, group_setup, group_teardown);
}
