/* SPDX-License-Identifier: MIT */

/*
 * Directories that somebody has crafted: numbers in files that are right by their checksums, and far beyond what is
 * there; files that are long, and hold nothing. A tool says so, or is done soon, and takes no more memory for it.
 *
 * tests/crafted makes such directories at random.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "recovery/bytes.h"
#include "recovery/checksums.h"
#include "recovery/manifest_slot.h"
#include "recovery/page_name.h"
#include "tests/support/leeway.h"
#include "tests/tools/tool.h"

enum { COMMITS = 20, LIMIT_MS = 10000, MEMORY_KB = 1 << 20, PAGE = 4096 };

/* ---- Limits ---- */

static uint64_t began_ns;

static void begin(void)
{
        began_ns = crew_clock_ns();
}

/* Of all tools that were run since. */
static void check_limits(void)
{
        struct rusage usage;

        check(crew_clock_ns() - began_ns < leeway_ms(LIMIT_MS) * 1000000);
        check_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
        check(usage.ru_maxrss < MEMORY_KB);
}

static void make_long(const char *name, uint64_t byte_len)
{
        check_equal(truncate(tool_path(name), (off_t)byte_len), 0);
}

/* ---- Long files ---- */

static void a_data_file_of_holes_is_checked_at_once(void)
{
        tool_work(0, COMMITS, TOOL_CLOSE);
        make_long(TOOL_FILE, PAGE_NAME_NUMBERS * PAGE);
        begin();
        check_xac(0, "check", TOOL_ENV);
        check_limits();
}

static void a_data_file_that_is_too_long_is_damage(void)
{
        tool_work(0, COMMITS, TOOL_CLOSE);
        make_long(TOOL_FILE, (PAGE_NAME_NUMBERS + 1) * PAGE);
        begin();
        check_xac(1, "check", TOOL_ENV);
        check_said("longer than a data file can be");
        check_limits();
}

static void an_index_of_holes_is_refused(void)
{
        tool_work(0, COMMITS, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("full"));
        check_equal(truncate(scratch_path("full/xac.backup"), INT64_C(1) << 32), 0);
        begin();
        check_xac(1, "restore", "--check", scratch_path("full"));
        check_said("damaged");
        check_xac(1, "stat", scratch_path("full"));
        check_limits();
}

/* ---- Numbers that are far away ---- */

static void edit_manifest(void (*edit)(struct manifest *manifest))
{
        static unsigned char slot[MANIFEST_SLOT_BYTES];
        static struct manifest manifest;
        const int fd = open(tool_path("xac.manifest"), O_RDWR | O_CLOEXEC);

        check_equal(pread(fd, slot, sizeof(slot), 0), sizeof(slot));
        check_equal(manifest_slot_judge(slot, &manifest), SLOT_VALID);
        edit(&manifest);
        for (int turn = 0; turn < 2; turn++) {
                manifest_slot_encode(slot, &manifest, turn);
                check_equal(pwrite(fd, slot, sizeof(slot), turn * MANIFEST_SLOT_BYTES), sizeof(slot));
        }
        close(fd);
}

/* What is damaged before that was given up: it is a gap. */
static void move_base_away(struct manifest *manifest)
{
        manifest->history = !manifest->session.history;
        manifest->base_position = UINT64_C(1) << 58;
        manifest->redo_position = manifest->base_position;
}

/* Some 10^12 segments between are missing. */
static void a_log_that_ends_far_away_is_archived(void)
{
        tool_work(0, COMMITS, TOOL_CLOSE);
        edit_manifest(move_base_away);
        check_equal(mkdir(scratch_path("archive"), 0700), 0);
        begin();
        (void)tool_xac(tool_args("archive", TOOL_ENV, scratch_path("archive")));
        check(tool.status == 0 || tool.status == 1);
        check_limits();
}

static void expect_odd_number(const char *name)
{
        char sentence[80];

        scratch_write_file(tool_path(name), "", 0);
        snprintf(sentence, sizeof(sentence), "%s: offset", name);
        check_xac(1, "check", TOOL_ENV);
        check_said(sentence);
        check_said("no log has so many files");
        xac_env *env;
        check_code(xac_open(TOOL_ENV, 0, NULL, &env), XAC_CORRUPT);
        check_equal(unlink(tool_path(name)), 0);
}

/* An open refuses them: so whoever asks why has to be told the file. */
static void a_log_file_with_a_number_that_is_too_high_is_named(void)
{
        tool_work(0, COMMITS, TOOL_CLOSE);
        expect_odd_number("xac.log.2147483648");
        expect_odd_number("xac.log.4294967294");
        tool_work(0, COMMITS, TOOL_KILL); /* beside a log that is to be replayed, too */
        tool_power_cut();
        expect_odd_number("xac.log.2147483648");
        scratch_write_file(tool_path("xac.log.4294967296"), "", 0); /* nobody takes that for a log's */
        check_xac(0, "check", TOOL_ENV);
        check_equal(tool_sum(), 2 * COMMITS);
}

/* Of the file of checksums `fd`. */
static void put_noted_length(int fd, uint64_t byte_len)
{
        enum { NOTE = 4096, SIZE = 16, CHECKSUM = 24, NUMBER_CHECKSUM = 36 };
        unsigned char note[CHECKSUMS_SECTOR_BYTES];

        check_equal(pread(fd, note, sizeof(note), NOTE), sizeof(note));
        bytes_put_u64(note + SIZE, byte_len);
        bytes_put_u32(note + CHECKSUM, checksum_crc32c(0, note, CHECKSUM));
        bytes_put_u32(note + NUMBER_CHECKSUM, checksum_crc32c(0, note, NUMBER_CHECKSUM));
        check_equal(pwrite(fd, note, sizeof(note), NOTE), sizeof(note));
}

/* A note that says so is none. */
static void a_noted_length_without_end_is_not_repaired(void)
{
        tool_work(0, COMMITS, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("full"));
        const int fd = open(tool_path("xac.sums.0"), O_RDWR | O_CLOEXEC);
        put_noted_length(fd, UINT64_C(1) << 52);
        close(fd);
        begin();
        (void)tool_xac(tool_args("repair", "--from", scratch_path("full"), TOOL_ENV));
        check(tool.status >= 0 && tool.status <= 4);
        check_equal(scratch_file_size(tool_path(TOOL_FILE)), TOOL_PAGES * PAGE);
        check_limits();
}

/* By what the note says, and without a checksum: they get one each that no page has, and no write each. */
static void pages_that_were_cut_are_marked_by_sectors(void)
{
        enum { CUT = 4000, PAGES = TOOL_PAGES + CUT };

        tool_work(0, COMMITS, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("full"));
        const int fd = open(tool_path("xac.sums.0"), O_RDWR | O_CLOEXEC);
        check_ok(checksums_grow(fd, PAGES));
        check_ok(checksums_write_unknown(fd, TOOL_PAGES, CUT));
        put_noted_length(fd, (uint64_t)PAGES * PAGE);
        close(fd);
        const unsigned long long before = tool_calls("syscw");
        check_xac(1, "repair", "--from", scratch_path("full"), TOOL_ENV);
        check(tool_calls("syscw") - before < CUT / 4);
        check_equal(scratch_file_size(tool_path(TOOL_FILE)), PAGES * PAGE);
        check_xac(1, "check", TOOL_ENV); /* zeros are not what was there */
}

static void a_long_hole_is_scrubbed_in_one_step(void)
{
        tool_work(0, COMMITS, TOOL_CLOSE);
        make_long(TOOL_FILE, PAGE_NAME_NUMBERS * PAGE);
        begin();
        check_xac(0, "scrub", TOOL_ENV);
        check_said("268435456 pages");
        check_limits();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_data_file_of_holes_is_checked_at_once),
                isolated_test(a_data_file_that_is_too_long_is_damage),
                isolated_test(an_index_of_holes_is_refused),
                isolated_test(a_long_hole_is_scrubbed_in_one_step),
                isolated_test(a_log_that_ends_far_away_is_archived),
                isolated_test(a_log_file_with_a_number_that_is_too_high_is_named),
                isolated_test(a_noted_length_without_end_is_not_repaired),
                isolated_test(pages_that_were_cut_are_marked_by_sectors),
        };

        return cmocka_run_group_tests_name("crafted", tests, NULL, NULL);
}
