/* SPDX-License-Identifier: MIT */

/*
 * P5, P7, R11: bytes of an environment that rot, files that are cut, lost, taken from another environment
 * or made by another version, after a machine crash. Every open ends with a prefix of the commits that is
 * right to the last byte, or with XAC_CORRUPT or XAC_FORMAT and nothing on the disk changed; never with
 * wrong data, never with a crash. Where a later record proves that what is damaged was on disk, no commit
 * is given up silently.
 *
 * Some hundred bytes are drawn by chance; with XAC_TEST_LONG it is every byte of the newest part of the
 * log, and many more of the rest.
 */

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "recovery/bytes.h"
#include "recovery/log_header.h"
#include "recovery/manifest_slot.h"
#include "tests/failure/ledger.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

enum { SAMPLES = 600, LONG_SAMPLES = 20000, SECONDS = 120, LONG_SECONDS = 3600 };

static struct ledger ledger;
static struct chance chance;

static bool is_long(void)
{
        return getenv("XAC_TEST_LONG") != NULL;
}

static uint64_t samples(void)
{
        return is_long() ? LONG_SAMPLES : SAMPLES;
}

static void begin(void)
{
        chance.state = chance_seed();
        ledger_make(&ledger, "env", chance.state);
}

/* Tries the image with one byte of a file changed. */
static int try_flip(struct ledger_image *image, struct ledger_file *file, size_t at, uint64_t fewest)
{
        unsigned char flip = (unsigned char)(1 + chance_below(&chance, 255));
        int code;

        file->bytes[at] ^= flip;
        code = ledger_try(&ledger, image, fewest, file->name, at);
        file->bytes[at] ^= flip;
        return code;
}

static void the_crash_alone_is_no_damage(void)
{
        begin();
        check_ok(ledger_try(&ledger, &ledger.image, LEDGER_NEWEST, "undamaged", 0));
}

/* ---- The log ---- */

/* What must be there, unless damage is reported, if a byte at this position of the log is wrong:
 * everything, but for the newest commit if it is a byte of its group. */
static uint64_t fewest_with_bad_byte(uint64_t position)
{
        bool is_in_last_group =
                position >= ledger.group_end[LEDGER_NEWEST - 1] && position < ledger.group_end[LEDGER_NEWEST];

        return is_in_last_group ? LEDGER_NEWEST - 1 : LEDGER_NEWEST;
}

/* Its file, and where in it. */
static struct ledger_file *file_at(struct ledger_image *image, uint64_t position, size_t *offset)
{
        uint64_t segment_no;

        *offset = LOG_HEADER_BYTES + position % ledger.segment_bytes;
        for (uint32_t i = 0; i < image->count; i++)
                if (ledger_segment(&ledger, &image->file[i], &segment_no) &&
                    segment_no == position / ledger.segment_bytes)
                        return &image->file[i];
        return NULL;
}

static int flip_position(struct ledger_image *image, uint64_t position)
{
        size_t offset;
        struct ledger_file *file = file_at(image, position, &offset);

        check(file != NULL);
        return try_flip(image, file, offset, fewest_with_bad_byte(position));
}

/* Most of a group is the zeros of its pad, where a wrong byte means nothing: records are drawn more often. */
static void every_flipped_byte_of_the_log(void)
{
        struct ledger_image image;
        uint64_t reported = 0, begins;

        begin();
        ledger_copy(&image, &ledger.image);
        begins = ledger.group_end[LEDGER_LARGE];
        for (uint64_t at = begins; is_long() && at < ledger.group_end[LEDGER_NEWEST] + 4096; at++)
                reported += flip_position(&image, at) == XAC_CORRUPT;
        for (uint64_t i = 0; i < samples(); i++) {
                uint64_t k = LEDGER_LARGE + chance_below(&chance, LEDGER_NEWEST - LEDGER_LARGE + 1);
                uint64_t record = ledger.end[k] - 8 - chance_below(&chance, 100);

                reported +=
                        flip_position(&image, i % 4 ? record : begins - chance_below(&chance, 65536)) == XAC_CORRUPT;
        }
        check(reported > samples() / 4); /* it is not that nobody looks */
        ledger_free(&image);
}

/* A wrong byte of a commit before the newest one is reported, each time: the next group proves it. */
static void damage_before_the_last_group_is_reported(void)
{
        struct ledger_image image;

        begin();
        ledger_copy(&image, &ledger.image);
        for (uint64_t k = LEDGER_LARGE; k < LEDGER_NEWEST; k++)
                for (uint64_t i = 0; i < (is_long() ? 56 : 3); i++)
                        check_equal(flip_position(&image, ledger.end[k] - 8 - chance_below(&chance, 48)), XAC_CORRUPT);
        ledger_free(&image);
}

/* With the end of the log all that stood there is gone, and what is there is a prefix; or it is reported. */
static uint64_t fewest_with_cut(uint64_t segment_no, size_t byte_len)
{
        uint64_t cut = segment_no * ledger.segment_bytes + byte_len - LOG_HEADER_BYTES;
        uint64_t k = LEDGER_NEWEST;

        if (byte_len < LOG_HEADER_BYTES)
                cut = segment_no * ledger.segment_bytes;
        if (segment_no < (ledger.group_end[LEDGER_NEWEST] - 1) / ledger.segment_bytes)
                return cut <= ledger.end[LEDGER_NEWEST] ? LEDGER_NEWEST : 0; /* later segments prove what was here */
        while (k > 1 && ledger.end[k] > cut)
                k--;
        return k;
}

static void every_length_of_a_segment(void)
{
        struct ledger_image image;

        begin();
        ledger_copy(&image, &ledger.image);
        for (uint32_t i = 0; i < image.count; i++) {
                struct ledger_file *file = &image.file[i];
                size_t whole = file->byte_len;
                uint64_t segment_no;

                if (!ledger_segment(&ledger, file, &segment_no))
                        continue;
                for (size_t cut = 0; cut < whole; cut += is_long() ? 512 : 8192) {
                        size_t byte_len = cut + chance_below(&chance, 512);

                        ledger_cut(file, i % 2 ? cut : byte_len);
                        ledger_try(&ledger, &image, fewest_with_cut(segment_no, file->byte_len), file->name,
                                   file->byte_len);
                        file->byte_len = whole;
                }
        }
        ledger_free(&image);
}

/* One copy of a header is enough. Without both, the file is no segment. */
static void headers_of_segments(void)
{
        struct ledger_image image;

        begin();
        ledger_copy(&image, &ledger.image);
        for (uint32_t i = 0; i < image.count; i++) {
                struct ledger_file *file = &image.file[i];
                uint64_t segment_no;

                if (!ledger_segment(&ledger, file, &segment_no))
                        continue;
                for (uint64_t n = 0; n < (is_long() ? LOG_HEADER_BYTES : 12); n++) {
                        size_t at =
                                is_long() ? n : chance_below(&chance, 2) * LOG_HEADER_COPY + chance_below(&chance, 56);

                        check_ok(try_flip(&image, file, at, LEDGER_NEWEST));
                }
                for (int n = 0; n < 4; n++) {
                        size_t at = chance_below(&chance, LOG_SECTOR);

                        file->bytes[at] ^= 0x10;
                        try_flip(&image, file, LOG_HEADER_COPY + chance_below(&chance, LOG_SECTOR),
                                 fewest_with_cut(segment_no, 0));
                        file->bytes[at] ^= 0x10;
                }
        }
        ledger_free(&image);
}

/* ---- Manifest, double-write buffer, data files ---- */

static void the_manifest(void)
{
        struct ledger_image image;
        struct ledger_file *manifest;

        begin();
        ledger_copy(&image, &ledger.image);
        manifest = ledger_file(&image, MANIFEST_NAME);
        for (uint64_t i = 0; i < samples() / 2; i++) {
                size_t at = chance_below(&chance, i % 2 ? MANIFEST_SLOT_BYTES : 700);

                if (i % 3)
                        at += MANIFEST_SLOT_BYTES;
                check_ok(try_flip(&image, manifest, at, LEDGER_NEWEST)); /* the other slot says the same */
                manifest->bytes[at] ^= 0x40;
                check_equal(try_flip(&image, manifest, (at + MANIFEST_SLOT_BYTES) % (2 * MANIFEST_SLOT_BYTES), 0),
                            XAC_CORRUPT);
                manifest->bytes[at] ^= 0x40;
        }
        ledger_cut(manifest, MANIFEST_SLOT_BYTES + chance_below(&chance, MANIFEST_SLOT_BYTES));
        check_ok(ledger_try(&ledger, &image, LEDGER_NEWEST, "manifest, second slot cut", manifest->byte_len));
        ledger_cut(manifest, chance_below(&chance, MANIFEST_SLOT_BYTES));
        check_equal(ledger_try(&ledger, &image, 0, "manifest cut", manifest->byte_len), XAC_CORRUPT);
        ledger_free(&image);
}

static void the_double_write_buffers(void)
{
        struct ledger_image image;
        int named;
        uint64_t reported = 0;

        begin();
        ledger_copy(&image, &ledger.image);
        named = ledger_buffer(&ledger);
        check(named >= 0);
        for (int which = 0; which < 2; which++) {
                const char *name = which ? "xac.area.1" : "xac.area.0";
                struct ledger_file *buffer = which == named ? ledger_file(&image, name) : NULL;

                for (uint64_t i = 0; buffer && i < samples() / 2; i++)
                        reported += try_flip(&image, buffer, chance_below(&chance, i % 2 ? 4096 : buffer->byte_len),
                                             LEDGER_NEWEST) == XAC_CORRUPT;
                if (!buffer)
                        buffer = ledger_add(&image, name); /* whatever it holds, nobody asks for it */
                else
                        ledger_cut(buffer, chance_below(&chance, buffer->byte_len));
                check_equal(ledger_try(&ledger, &image, LEDGER_NEWEST, buffer->name, buffer->byte_len),
                            which == named ? XAC_CORRUPT : 0);
                if (which == named)
                        ledger_set_bytes(buffer, ledger_file(&ledger.image, name));
        }
        check(reported > samples() / 4);
        ledger_free(&image);
}

/* Home is not read where the log rewrites whole pages, but it must be there. */
static void data_files(void)
{
        static const char *const names[LEDGER_FILES] = { "first", "second" };
        struct ledger_image image;

        begin();
        ledger_copy(&image, &ledger.image);
        for (int i = 0; i < LEDGER_FILES; i++) {
                struct ledger_file *file = ledger_file(&image, names[i]);

                for (uint64_t n = 0; n < samples() / 8; n++)
                        check_ok(try_flip(&image, file, chance_below(&chance, file->byte_len), LEDGER_NEWEST));
                ledger_cut(file, chance_below(&chance, (LEDGER_PAGES - 1) * LEDGER_PAGE));
                check_equal(ledger_try(&ledger, &image, 0, file->name, file->byte_len), XAC_CORRUPT);
                file->is_gone = true;
                check_equal(ledger_try(&ledger, &image, 0, file->name, 0), XAC_CORRUPT);
                file->is_gone = false;
                ledger_set_bytes(file, ledger_file(&ledger.image, names[i]));
        }
        ledger_free(&image);
}

/* ---- Files that belong elsewhere ---- */

static void swap_bytes(struct ledger_file *a, struct ledger_file *b)
{
        struct ledger_file kept = *a;

        a->bytes = b->bytes;
        a->byte_len = b->byte_len;
        b->bytes = kept.bytes;
        b->byte_len = kept.byte_len;
}

/* What opening must say when this file is another environment's. */
static int expected_of_stranger(const struct ledger_file *file, int named_buffer)
{
        char name[16];
        uint32_t file_no;

        snprintf(name, sizeof(name), "xac.area.%d", named_buffer);
        if (log_file_number(file->name, &file_no) || strcmp(file->name, MANIFEST_NAME) == 0 ||
            strcmp(file->name, name) == 0)
                return XAC_CORRUPT;
        return 0; /* a data file, all of whose pages the log holds; a double-write buffer that nobody asks for */
}

/* The machine went down while the library was making it ready: it belongs to nobody yet. */
static bool is_unfinished_segment(const struct ledger_file *file)
{
        uint32_t file_no;

        return log_file_number(file->name, &file_no) &&
               (file->byte_len < LOG_HEADER_BYTES || memcmp(file->bytes, LOG_SEGMENT_MAGIC, 8) != 0);
}

/* Segments of the log are made ahead, in one environment more than in another. */
static void files_of_another_environment(void)
{
        static struct ledger other;
        enum { COMMON_FILES = 4 }; /* the manifest, data files, a segment */
        struct ledger_image image;
        int named, tried = 0;

        begin();
        ledger_make(&other, "other", chance.state + 1);
        ledger_copy(&image, &ledger.image);
        named = ledger_buffer(&ledger);
        for (uint32_t i = 0; i < image.count; i++) {
                struct ledger_file *mine = &image.file[i];

                if (!ledger_find(&other.image, mine->name))
                        continue;
                tried++;
                ledger_set_bytes(mine, ledger_file(&other.image, mine->name));
                if (!is_unfinished_segment(mine))
                        check_equal(ledger_try(&ledger, &image, LEDGER_NEWEST, mine->name, 0),
                                    expected_of_stranger(mine, named));
                ledger_set_bytes(mine, &ledger.image.file[i]);
        }
        check(tried >= COMMON_FILES);
        ledger_free(&image);
}

/* Names of segment files say nothing, data files stand in the log; a segment that is there twice is
 * damage. */
static void files_of_the_same_environment(void)
{
        struct ledger_image image;
        struct ledger_file *segments[LEDGER_ENTRIES];
        uint32_t count = 0;
        uint64_t segment_no;

        begin();
        ledger_copy(&image, &ledger.image);
        for (uint32_t i = 0; i < image.count; i++)
                if (ledger_segment(&ledger, &image.file[i], &segment_no))
                        segments[count++] = &image.file[i];
        check(count >= 2);
        swap_bytes(segments[0], segments[1]);
        swap_bytes(ledger_file(&image, "first"), ledger_file(&image, "second"));
        check_ok(ledger_try(&ledger, &image, LEDGER_NEWEST, "swapped", 0));
        segments[0]->is_gone = true;
        ledger_try(&ledger, &image, LEDGER_NEWEST, segments[0]->name, 0);
        segments[0]->is_gone = false;
        for (uint32_t i = 0; i < count; i++) {
                struct ledger_file *twice = ledger_add(&image, "xac.log.77");

                ledger_set_bytes(twice, segments[i]);
                check_equal(ledger_try(&ledger, &image, LEDGER_NEWEST, "a segment twice", i), XAC_CORRUPT);
                free(twice->bytes);
                image.count--;
        }
        ledger_free(&image);
}

/* ---- Another version's ---- */

static uint32_t crc_around(const unsigned char *bytes, size_t hole, size_t byte_len)
{
        return checksum_crc32c(checksum_crc32c(0, bytes, hole), bytes + hole + 4, byte_len - hole - 4);
}

/* Version and checksum stand at the same places in all of them: 8 and 12. */
static void set_version(unsigned char *bytes, size_t byte_len, uint32_t version)
{
        bytes_put_u32(bytes + 8, version);
        bytes_put_u32(bytes + 12, crc_around(bytes, 12, byte_len));
}

static void another_version(void)
{
        struct ledger_image image;

        begin();
        ledger_copy(&image, &ledger.image);
        for (uint32_t i = 0; i < image.count; i++) {
                struct ledger_file *file = &image.file[i];
                uint32_t file_no;
                int expected = 0;

                if (is_unfinished_segment(file))
                        continue;
                if (log_file_number(file->name, &file_no)) {
                        set_version(file->bytes, LOG_SECTOR, 99);
                        check_ok(ledger_try(&ledger, &image, LEDGER_NEWEST, file->name, 1));
                        set_version(file->bytes + LOG_HEADER_COPY, LOG_SECTOR, 99);
                        expected = XAC_FORMAT;
                } else if (strcmp(file->name, MANIFEST_NAME) == 0) {
                        set_version(file->bytes, MANIFEST_SLOT_BYTES, 99);
                        check_ok(ledger_try(&ledger, &image, LEDGER_NEWEST, file->name, 1));
                        set_version(file->bytes + MANIFEST_SLOT_BYTES, MANIFEST_SLOT_BYTES, 99);
                        expected = XAC_FORMAT;
                } else if (strncmp(file->name, "xac.area.", 9) == 0 && file->name[9] - '0' == ledger_buffer(&ledger)) {
                        set_version(file->bytes, 4096, 99);
                        expected = XAC_CORRUPT; /* the manifest names another one */
                }
                check_equal(ledger_try(&ledger, &image, LEDGER_NEWEST, file->name, 2), expected);
                ledger_set_bytes(file, &ledger.image.file[i]);
        }
        ledger_free(&image);
}

/* ---- A directory that may not be written ---- */

struct user {
        uid_t id;
        gid_t group;
};

static void own_everything(uid_t user, gid_t group, mode_t directory_mode, mode_t file_mode)
{
        char path[1024];

        for (uint32_t i = 0; i <= ledger.image.count; i++) {
                const char *name = i < ledger.image.count ? ledger.image.file[i].name : "xac.lock";

                snprintf(path, sizeof(path), "%s/%s", ledger.path, name);
                if (chown(path, user, group) && errno == ENOENT) /* a close has left fewer files of the log */
                        continue;
                check_equal(chown(path, user, group), 0);
                check_equal(chmod(path, file_mode), 0);
        }
        check_equal(chown(ledger.path, user, group), 0);
        check_equal(chmod(ledger.path, directory_mode), 0);
}

/* Whatever it says, it says it without a change; and what it opens is whole. */
static void open_it(bool must_succeed)
{
        uint64_t commits;
        int code = ledger_open(&ledger, &commits);

        if (!code) {
                check_equal(commits, LEDGER_NEWEST);
                ledger_go_on(&ledger);
                ledger_close();
                return;
        }
        check(!must_succeed);
        if (code != -EACCES && code != -EPERM)
                check_failed(__FILE__, __LINE__, "%s", xac_strerror(code));
}

/* In a process of its own, which ends as root: nobody may not look for its leaks. */
static void open_as_nobody(int must_succeed, void *user_)
{
        const struct user *user = user_;

        check_equal(setegid(user->group), 0);
        check_equal(seteuid(user->id), 0);
        open_it(must_succeed);
        check_equal(seteuid(0), 0);
        check_equal(setegid(0), 0);
}

static void a_directory_that_may_not_be_written(void)
{
        const struct passwd *nobody = getpwnam("nobody");
        struct user user = { 0 };
        uint64_t commits;

        if (nobody)
                user = (struct user){ nobody->pw_uid, nobody->pw_gid };
        if (geteuid() != 0 || !user.id)
                isolate_skip("needs root, to become nobody");
        begin();
        check_equal(chmod(scratch_path("."), 0755), 0);
        for (int is_writable = 0; is_writable < 2; is_writable++) {
                ledger_store(&ledger, &ledger.image);
                own_everything(user.id, user.group, 0500, is_writable ? 0600 : 0400);
                crew_join(crew_fork(open_as_nobody, 0, &user));
                check_equal(scratch_shared_memory_of(ledger.path), 0);
                own_everything(user.id, user.group, 0700, 0600);
                crew_join(crew_fork(open_as_nobody, 1, &user));
        }
        own_everything(0, 0, 0700, 0600);
        check_ok(ledger_open(&ledger, &commits));
        check_equal(commits, LEDGER_NEWEST + 1);
        ledger_close();
}

#define damage_test(body) isolated_timed(body, SECONDS)

int main(void)
{
        const struct CMUnitTest tests[] = {
                damage_test(the_crash_alone_is_no_damage),
                isolated_timed(every_flipped_byte_of_the_log, is_long() ? LONG_SECONDS : SECONDS),
                isolated_timed(damage_before_the_last_group_is_reported, is_long() ? LONG_SECONDS : SECONDS),
                isolated_timed(every_length_of_a_segment, is_long() ? LONG_SECONDS : SECONDS),
                isolated_timed(headers_of_segments, is_long() ? LONG_SECONDS : SECONDS),
                isolated_timed(the_manifest, is_long() ? LONG_SECONDS : SECONDS),
                isolated_timed(the_double_write_buffers, is_long() ? LONG_SECONDS : SECONDS),
                isolated_timed(data_files, is_long() ? LONG_SECONDS : SECONDS),
                damage_test(files_of_another_environment),
                damage_test(files_of_the_same_environment),
                damage_test(another_version),
                damage_test(a_directory_that_may_not_be_written),
        };

        places_prefer_memory(); /* many syncs */
        return cmocka_run_group_tests_name("log_damage", tests, NULL, NULL);
}
