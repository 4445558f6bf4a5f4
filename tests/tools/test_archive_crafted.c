/* SPDX-License-Identifier: MIT */

/*
 * Archives that somebody has crafted: headers that are right by their checksums, and names without a part. What cannot
 * be is refused before anything is changed, and an archive that would take nothing any more is told of.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/archive.h"
#include "recovery/log_format.h"
#include "recovery/log_record.h"
#include "tests/support/heard.h"
#include "tests/tools/tool.h"

#define ARCHIVE scratch_path("archive")
#define COPY    scratch_path("copy")

enum { COMMITS = 5, UNITS_MAX = 1 << 30 };

/* The newest part, and what its header says. */
struct crafted {
        int directory;
        char name[ARCHIVE_NAME_BYTES];
        struct archive_part part;
        struct archive_files files;
};

/* An archive of two sessions, and a copy from before the second one. */
static void make_archive(void)
{
        check_equal(mkdir(ARCHIVE, 0700), 0);
        tool_work(0, COMMITS, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        scratch_shell("cp -r '%s' '%s' && rm -f '%s'/xac.lock '%s'/xac.log.*", TOOL_ENV, COPY, COPY, COPY);
        tool_work(0, COMMITS, TOOL_CLOSE);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
}

static void find(struct crafted *crafted)
{
        check_ok(sys_open(AT_FDCWD, ARCHIVE, O_RDONLY | O_DIRECTORY, 0, &crafted->directory));
        check_ok(archive_newest(crafted->directory, &crafted->part, crafted->name));
        check_ok(archive_look(crafted->directory, crafted->name, &crafted->part, &crafted->files));
}

/* The header anew, with its checksum, and the name that goes with it. */
static void put(struct crafted *crafted)
{
        static unsigned char header[ARCHIVE_HEADER_MAX];
        char name[ARCHIVE_NAME_BYTES];
        int fd;

        archive_header_encode(header, &crafted->part, &crafted->files);
        check_ok(sys_open(crafted->directory, crafted->name, O_WRONLY, 0, &fd));
        check_ok(sys_write_all(fd, header, crafted->part.header_bytes, 0));
        close(fd);
        archive_file_name(name, crafted->part.from, crafted->part.to, crafted->part.session.incarnation);
        check_equal(renameat(crafted->directory, crafted->name, crafted->directory, name), 0);
        close(crafted->directory);
}

/* ---- Files ---- */

static void expect_nothing_changed(const char *said)
{
        check_xac(1, "archive", "--until=newest", ARCHIVE, COPY);
        check_said(said);
        check_not_said("no environment any more");
        check(scratch_file_size(scratch_path("copy/xac.manifest")) > 0);
        check_equal(tool_sum_of_file(COPY), COMMITS);
        check_xac(0, "check", COPY);
}

static void a_name_that_is_there_twice_changes_nothing(void)
{
        struct crafted crafted;

        make_archive();
        find(&crafted);
        crafted.files.file[crafted.files.count] = crafted.files.file[0];
        crafted.files.count++;
        put(&crafted);
        expect_nothing_changed("no environment has such files");
}

static void a_place_beyond_all_addresses_changes_nothing(void)
{
        struct crafted crafted;

        make_archive();
        find(&crafted);
        crafted.files.file[0].place = (struct manifest_place){ UNITS_MAX, 1 };
        put(&crafted);
        expect_nothing_changed("no environment has such files");
}

/* What lies in the place of a file that is to be made. */
static void a_file_that_is_none_changes_nothing(void)
{
        struct crafted crafted;

        make_archive();
        find(&crafted);
        crafted.files.file[crafted.files.count] = crafted.files.file[0];
        strcpy(crafted.files.file[crafted.files.count].name, "more");
        crafted.files.count++;
        put(&crafted);
        check_equal(symlink(TOOL_FILE, scratch_path("copy/more")), 0);
        expect_nothing_changed("more is no plain file");
}

/* ---- Where the archive goes on ---- */

static void a_part_from_beyond_the_end_is_told(void)
{
        struct crafted crafted;

        make_archive();
        find(&crafted);
        const uint64_t segment = crafted.part.from / crafted.part.segment_bytes;
        check(crafted.part.to < (segment + 1) * crafted.part.segment_bytes);
        crafted.part.to = crafted.part.next_record = (segment + 1) * crafted.part.segment_bytes;
        put(&crafted);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("has log from beyond the end of that of");
        check_not_said("nothing new to take");
}

/* No log file reaches so far, whatever is logged meanwhile. */
static void a_part_from_beyond_a_log_in_use_is_told(void)
{
        struct manifest manifest;
        struct crafted crafted;
        xac_env *env;
        int directory;

        make_archive();
        uint64_t *words = tool_open(0, &env);
        tool_commit(env, words, 0, 0);
        check_ok(sys_open(AT_FDCWD, TOOL_ENV, O_RDONLY | O_DIRECTORY, 0, &directory));
        check_ok(manifest_read(directory, &manifest));
        close(directory);
        find(&crafted);
        crafted.part.session = manifest.session;
        crafted.part.from = 1000 * crafted.part.segment_bytes;
        crafted.part.to = crafted.part.from + crafted.part.segment_bytes;
        crafted.part.first_record = crafted.part.oldest = crafted.part.from;
        crafted.part.next_record = crafted.part.to;
        put(&crafted);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("has log from beyond the end of that of");
        check_ok(xac_close(env));
}

/* A record would have to be longer than one can be: no record would be found in any later part. */
static void a_next_record_that_is_far_away_is_damage(void)
{
        struct crafted crafted;

        make_archive();
        find(&crafted);
        crafted.part.next_record = crafted.part.to + LOG_RECORD_MAX + LOG_BLOCK;
        put(&crafted);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said(crafted.name);
        check_said("is none that can be read: move it away");
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("its header is damaged");
}

/* Whoever moved it away would lose what it holds. */
static void a_part_of_another_version_is_not_to_be_moved_away(void)
{
        struct crafted crafted;

        make_archive();
        find(&crafted);
        crafted.part.packing = 77;
        put(&crafted);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_not_said("move it away");
}

static void open_with_archive(int expected)
{
        const xac_options options = { .archive = ARCHIVE };
        xac_env *env;

        check_code(xac_open(TOOL_ENV, 0, &options, &env), expected);
        if (!expected)
                check_ok(xac_close(env));
}

static void expect_named(const char *name)
{
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said(name);
        check_said("is none that can be read: move it away");
        hear();
        open_with_archive(XAC_CORRUPT);
        check(was_heard(name) && was_heard("is none that can be read: move it away"));
}

static void a_name_without_a_part_is_told(void)
{
        static const char name[] = "xac.archive.0000000000010000-0000000000020000.7fffffff";
        char path[256];

        make_archive();
        snprintf(path, sizeof(path), "archive/%s", name);
        scratch_write_file(scratch_path(path), "", 0);
        expect_named(name);
        check_equal(unlink(scratch_path(path)), 0);
        check_equal(symlink("nowhere", scratch_path(path)), 0);
        expect_named(name);
        check_xac(1, "archive", "--list", ARCHIVE);
        check_said("its header is damaged");
        check_said("commits 7 to 11");
        check_equal(unlink(scratch_path(path)), 0);
        check_xac(0, "archive", TOOL_ENV, ARCHIVE);
        open_with_archive(0);
}

/* ---- Many parts ---- */

enum { MANY = 200, RECORD_PARTS = 64, FIRST = 16 /* block of the log */ };

/* A block of log, in which a long record begins that is damaged. */
static void make_part(int directory, uint64_t number)
{
        static unsigned char header[ARCHIVE_HEADER_MAX], log[LOG_BLOCK];
        const uint64_t from = (FIRST + number) * LOG_BLOCK;
        const struct log_record record = { .position = from,
                                           .sequence = number + 2,
                                           .incarnation = 1,
                                           .kind = LOG_COMMIT,
                                           .payload_len = RECORD_PARTS * LOG_BLOCK - LOG_RECORD_HEADER };
        struct archive_part part = { .segment_bytes = LOG_SEGMENT_MAX,
                                     .page_bytes = 4096,
                                     .from = from,
                                     .to = from + LOG_BLOCK,
                                     .session = { .incarnation = 1, .position = (uint64_t)FIRST * LOG_BLOCK },
                                     .first_record = from,
                                     .next_record = from + (uint64_t)RECORD_PARTS * LOG_BLOCK,
                                     .before = number + 1,
                                     .last = number + 2,
                                     .oldest = from,
                                     .packing = ARCHIVE_PLAIN,
                                     .packed_bytes = LOG_BLOCK };
        const struct archive_files none = { .count = 0 };
        char name[ARCHIVE_NAME_BYTES];
        int fd;

        log_record_encode(log, &record);
        part.packed_checksum = checksum_crc32c(0, log, sizeof(log));
        archive_header_encode(header, &part, &none);
        archive_file_name(name, part.from, part.to, 1);
        check_ok(sys_open(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd));
        check_ok(sys_write_all(fd, header, part.header_bytes, 0));
        check_ok(sys_write_all(fd, log, sizeof(log), part.header_bytes));
        close(fd);
}

/* Each record needs 64 parts, and is damaged: the parts behind it are read once all the same. */
static void parts_are_read_once_whatever_is_damaged(void)
{
        int directory;

        check_equal(mkdir(ARCHIVE, 0700), 0);
        check_ok(sys_open(AT_FDCWD, ARCHIVE, O_RDONLY | O_DIRECTORY, 0, &directory));
        for (unsigned i = 0; i < MANY; i++)
                make_part(directory, i);
        close(directory);
        const unsigned long long before = tool_calls("syscr");
        check_xac(1, "archive", "--check", ARCHIVE);
        check(tool_calls("syscr") - before < 5ull * MANY);
        check(tool_count_said("no valid record stands where one should") >= MANY - RECORD_PARTS);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_name_that_is_there_twice_changes_nothing),
                isolated_test(a_place_beyond_all_addresses_changes_nothing),
                isolated_test(a_file_that_is_none_changes_nothing),
                isolated_test(a_part_from_beyond_the_end_is_told),
                isolated_test(a_part_from_beyond_a_log_in_use_is_told),
                isolated_test(a_next_record_that_is_far_away_is_damage),
                isolated_test(a_part_of_another_version_is_not_to_be_moved_away),
                isolated_test(a_name_without_a_part_is_told),
                isolated_test(parts_are_read_once_whatever_is_damaged),
        };

        return cmocka_run_group_tests_name("tools/archive: crafted", tests, NULL, NULL);
}
