/* SPDX-License-Identifier: MIT */

/*
 * xac scrub and xac repair: damaged pages are found while others use the environment, with file and offset; they are
 * taken from a backup where it has the very page, and left alone elsewhere.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recovery/sums.h"
#include "tests/tools/tool.h"

/* Bits that change by themselves leave a file its time. */
static void rot(const char *name, uint64_t offset)
{
        struct stat st;

        check_equal(stat(tool_path(name), &st), 0);
        tool_damage(name, offset, 1);
        check_equal(utimensat(AT_FDCWD, tool_path(name), (struct timespec[2]){ st.st_atim, st.st_mtim }, 0), 0);
}

static void copy_to_backup(void)
{
        static const char *const names[] = { TOOL_FILE, "xac.sums.0", "xac.manifest" };
        char path[64];

        check_equal(mkdir(scratch_path("backup"), 0700), 0);
        for (int i = 0; i < 3; i++) {
                snprintf(path, sizeof(path), "backup/%s", names[i]);
                tool_copy_file(tool_path(names[i]), scratch_path(path));
        }
}

static void rot_is_found(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "scrub", TOOL_ENV);
        check_said("verified      16 pages\n");
        rot(TOOL_FILE, 5 * 4096 + 40);
        check_xac(1, "scrub", TOOL_ENV);
        check_said("DAMAGED: accounts: offset 20480: the page is not what its checksum says\n");
        check_said("verified      15 pages\n");
        check_xac(1, "scrub", "--json", "--rate=100000000", TOOL_ENV);
        check_said("\"offset\": 20480");
        check_said("\"verified\": 15");
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: accounts: offset 20480: the page is not what its checksum says (xac.sums.0: offset 8212)");
}

static void it_is_found_while_it_is_in_use(void)
{
        xac_env *env;
        uint64_t *words;

        tool_work(0, 20, TOOL_CLOSE);
        words = tool_open(0, &env);
        tool_commit(env, words, 3, 0);
        check_xac(0, "scrub", TOOL_ENV);
        check_said("verified      15 pages\n");
        check_said("in the pool   1 page,");
        rot(TOOL_FILE, 5 * 4096 + 40);
        check_xac(1, "scrub", TOOL_ENV);
        check_said("offset 20480");
        check_ok(xac_close(env));
}

static void a_volatile_one_is_scrubbed_too(void)
{
        xac_env *env;
        uint64_t *words;

        tool_work(XAC_VOLATILE, 20, TOOL_CLOSE);
        words = tool_open(XAC_VOLATILE, &env);
        tool_commit(env, words, 3, 0);
        check_xac(0, "scrub", TOOL_ENV);
        check_said("verified      15 pages\n");
        check_ok(xac_close(env));
}

static void what_was_changed_by_others_is_not_scrubbed_away(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        tool_damage(TOOL_FILE, 5 * 4096, 1);
        check_xac(0, "check", TOOL_ENV);
        check_said("note: accounts was changed since the environment was closed, in 1 pages");
        check_xac(1, "scrub", TOOL_ENV);
        check_said("1 of its 16 pages are not what their checksums say");
        check_said("damaged");
}

static void what_has_no_sums_gets_them(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_equal(unlink(tool_path("xac.sums.0")), 0);
        check_xac(0, "check", TOOL_ENV);
        check_said("1 file without any, which an open begins");
        check_said("accounts: its checksums (xac.sums.0) are missing");
        check_xac(1, "scrub", TOOL_ENV);
        check_said("are missing or damaged");
        check_said("as it is, open it once with a program");
        tool_work(0, 0, TOOL_CLOSE);
        check_xac(0, "scrub", TOOL_ENV);
        check_said("unknown       16 pages without a checksum");
        check_xac(0, "check", TOOL_ENV);
        check_said("16 pages without one yet: 'xac scrub --sum' makes them");
        check_xac(0, "scrub", "--sum", TOOL_ENV);
        check_said("summed        16 pages, which had no checksum");
        check_xac(0, "scrub", TOOL_ENV);
        check_said("verified      16 pages\n");
}

static void a_damaged_file_of_sums_is_told(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        rot("xac.sums.0", 8192 + 100);
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: xac.sums.0: offset 8192: the checksums of accounts from offset 0 to 520192 are damaged");
        rot("xac.sums.0", 8192 + 100);
        rot("xac.sums.0", 20);
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: xac.sums.0: its header is damaged");
        check_equal(tool_sum(), 20); /* the data are sound */
        check_xac(0, "scrub", "--sum", TOOL_ENV);
        check_xac(0, "check", TOOL_ENV);
}

static const char *from_backup(void)
{
        static char option[300];

        snprintf(option, sizeof(option), "--from=%s", scratch_path("backup"));
        return option;
}

static void a_page_is_taken_from_a_backup(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        rot(TOOL_FILE, 5 * 4096 + 40);
        check_xac(0, "repair", "--dry-run", from_backup(), TOOL_ENV);
        check_said("accounts: offset 20480: the page is taken from the backup\n");
        check_said("nothing was changed");
        check_xac(1, "check", TOOL_ENV);
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("repaired      1 page, 0 checksums\n");
        check_xac(0, "check", TOOL_ENV);
        check_not_said("note");
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("repaired      0 pages, 0 checksums\n");
        check_equal(tool_sum(), 20);
}

/* Their checksums tell what was there. */
static void files_that_are_missing_or_cut_are_put_together(void)
{
        for (int is_cut = 0; is_cut < 2; is_cut++) {
                scratch_clear();
                tool_work(0, 20, TOOL_CLOSE);
                check_xac(0, "backup", TOOL_ENV, scratch_path("backup"));
                if (is_cut)
                        check_equal(truncate(tool_path(TOOL_FILE), 5000), 0);
                else
                        check_equal(unlink(tool_path(TOOL_FILE)), 0);
                check_xac(1, "check", TOOL_ENV);
                check_said(is_cut ? "accounts has 5000 bytes, and had 65536 when it was closed: it was cut"
                                  : "DAMAGED: accounts");
                check_xac(0, "repair", "--dry-run", from_backup(), TOOL_ENV);
                check_said(is_cut ? "1 file, 14 pages" : "1 file, ");
                check_xac(1, "check", TOOL_ENV);
                check_xac(0, "repair", from_backup(), TOOL_ENV);
                check_said(is_cut ? "accounts: 65536 bytes long" : "accounts: is missing: made anew");
                check_xac(0, "check", TOOL_ENV);
                check_not_said("note");
                check_equal(tool_sum(), 20);
        }
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        check_equal(unlink(tool_path("xac.sums.0")), 0);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("so are its checksums: left as it is");
        check_equal(access(tool_path(TOOL_FILE), F_OK), -1);
}

/* The page has changed since. */
static void another_page_is_not_taken(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        tool_work(0, 6, TOOL_CLOSE);
        rot(TOOL_FILE, 5 * 4096 + 40);
        rot(TOOL_FILE, 9 * 4096 + 40);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 20480: the backup's page is another than the checksum is of: left as it is\n");
        check_said("accounts: offset 36864: the page is taken from the backup\n");
        check_said("left          1\n");
}

static void a_damaged_checksum_is_put_right(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        rot("xac.sums.0", 8192 + 8);
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("repaired      0 pages, 16 checksums\n");
        check_xac(0, "check", TOOL_ENV);
        check_not_said("note");
}

/* Recovery refuses to go on from a damaged page; once it is repaired it does. */
static void recovery_goes_on_after_a_repair(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        tool_work(0, 6, TOOL_KILL);
        tool_power_cut();
        rot(TOOL_FILE, 5 * 4096 + 1000);
        check_xac(1, "recover", TOOL_ENV);
        check_said("accounts: offset 20480: the page is not what its checksum says");
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_xac(0, "recover", TOOL_ENV);
        check_equal(tool_sum(), 26);
}

static void what_is_in_use_is_not_repaired(void)
{
        xac_env *env;

        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        (void)tool_open(0, &env);
        check_xac(3, "repair", from_backup(), TOOL_ENV);
        check_said("in use");
        check_ok(xac_close(env));
        tool_work(0, 6, TOOL_KILL);
        check_xac(3, "repair", from_backup(), TOOL_ENV);
        check_said("without xac_close");
        check_equal(tool_sum(), 26);
        check_xac(2, "repair", TOOL_ENV);
        check_said("--from");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(rot_is_found),
                isolated_test(it_is_found_while_it_is_in_use),
                isolated_test(a_volatile_one_is_scrubbed_too),
                isolated_test(what_was_changed_by_others_is_not_scrubbed_away),
                isolated_test(what_has_no_sums_gets_them),
                isolated_test(a_damaged_file_of_sums_is_told),
                isolated_test(a_page_is_taken_from_a_backup),
                isolated_test(files_that_are_missing_or_cut_are_put_together),
                isolated_test(another_page_is_not_taken),
                isolated_test(a_damaged_checksum_is_put_right),
                isolated_test(recovery_goes_on_after_a_repair),
                isolated_test(what_is_in_use_is_not_repaired),
        };
        return cmocka_run_group_tests_name("xac scrub, xac repair", tests, NULL, NULL);
}
