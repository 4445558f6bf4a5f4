/* SPDX-License-Identifier: MIT */

/*
 * xac scrub and xac repair: damaged pages are found while others use the environment, with file and offset; they are
 * taken from a backup where it has the very page, and left alone elsewhere. What is left stays damaged, whatever
 * happens to a repair.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recovery/checksums.h"
#include "tests/tools/tool.h"

static void keep_time(const char *name, const struct stat *st)
{
        check_equal(utimensat(AT_FDCWD, tool_path(name), (struct timespec[2]){ st->st_atim, st->st_mtim }, 0), 0);
}

/* Bits that change by themselves leave a file its time. */
static void rot(const char *name, uint64_t offset)
{
        struct stat st;

        check_equal(stat(tool_path(name), &st), 0);
        tool_damage(name, offset, 1);
        keep_time(name, &st);
}

/* And so does this one, who cuts it. */
static void cut(const char *name, uint64_t byte_len)
{
        struct stat st;

        check_equal(stat(tool_path(name), &st), 0);
        check_equal(truncate(tool_path(name), (off_t)byte_len), 0);
        keep_time(name, &st);
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
        check_xac(4, "check", TOOL_ENV);
        check_xac(1, "check", "--unchanged", TOOL_ENV);
        check_said("note: accounts was changed since the environment was closed, in 1 pages");
        check_xac(4, "scrub", TOOL_ENV);
        check_said("1 of its 16 pages are not what their checksums say");
        check_said("damaged");
}

static void what_has_no_checksums_gets_them(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_equal(unlink(tool_path("xac.sums.0")), 0);
        check_xac(4, "check", TOOL_ENV);
        check_said("1 file without any, which an open begins");
        check_said("accounts: its checksums (xac.sums.0) are missing");
        check_xac(4, "scrub", TOOL_ENV);
        check_said("are missing or damaged");
        check_said("as it is, open it once with a program");
        tool_work(0, 0, TOOL_CLOSE);
        check_xac(4, "scrub", TOOL_ENV);
        check_said("unknown       16 pages without a checksum");
        check_xac(4, "backup", TOOL_ENV, scratch_path("backup"));
        check_said("16 pages without a checksum");
        check_xac(4, "check", TOOL_ENV);
        check_said("16 pages without one yet: 'xac scrub --sum' makes them");
        check_xac(0, "scrub", "--sum", TOOL_ENV);
        check_said("summed        16 pages, which had no checksum");
        check_xac(0, "scrub", TOOL_ENV);
        check_said("verified      16 pages\n");
}

static void a_damaged_file_of_checksums_is_told(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        rot("xac.sums.0", 8192 + 100);
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: xac.sums.0: offset 8192: the checksums of accounts from offset 0 to 520192 are damaged");
        check_xac(1, "scrub", TOOL_ENV);
        check_said("DAMAGED: xac.sums.0: offset 8192: checksums of up to 127 pages\n");
        check_equal(tool_count_said("xac.sums.0"), 1);
        check_said("DAMAGED       16 pages whose checksums are damaged;");
        check_xac(1, "scrub", "--json", TOOL_ENV);
        check_said("\"sums_damaged\": 16");
        check_xac(0, "scrub", "--sum", TOOL_ENV);
        check_said("summed        16 pages");
        check_xac(0, "scrub", TOOL_ENV);
        check_said("verified      16 pages\n");
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
                check_said(is_cut ? "1 file, 14 pages, 0 checksums (nothing"
                                  : "1 file, 16 pages, 0 checksums (nothing");
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

/* A write that a disk has lost leaves the page of before, which a backup of before has, too. */
static void a_page_of_before_is_not_believed(void)
{
        struct stat st;

        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        tool_work(0, 6, TOOL_CLOSE);
        check_equal(stat(tool_path(TOOL_FILE), &st), 0);
        scratch_shell("dd if='%s/" TOOL_FILE "' of='%s' bs=4096 skip=5 seek=5 count=1 conv=notrunc status=none",
                      scratch_path("backup"), tool_path(TOOL_FILE));
        keep_time(TOOL_FILE, &st);
        check_xac(1, "check", TOOL_ENV);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 20480: the backup's page is another than the checksum is of: left as it is\n");
        check_xac(1, "check", TOOL_ENV);
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

/* ---- A backup that is damaged itself ---- */

static void rot_in_both_is_not_believed(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        rot(TOOL_FILE, 5 * 4096 + 40);
        copy_to_backup();
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 20480: the backup's page is not what the backup's own checksum says: left as it "
                   "is\n");
        check_said("repaired      0 pages, 0 checksums\n");
        check_said("left          1\n");
        check_xac(1, "check", TOOL_ENV);
        check_equal(unlink(scratch_path("backup/xac.sums.0")), 0);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 20480: both pages are the same, but the backup has no checksum of its own: left");
        check_xac(1, "check", TOOL_ENV);
}

/* Whoever has the very page, it is the page. */
static void the_very_page_needs_no_checksum_of_the_backup(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        rot(TOOL_FILE, 5 * 4096 + 40);
        check_equal(unlink(scratch_path("backup/xac.sums.0")), 0);
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 20480: the page is taken from the backup\n");
        check_xac(0, "check", TOOL_ENV);
}

/* Its checksums stand in the file of the backup, too. */
static void a_backup_without_checksums_is_believed_by_its_index(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("backup"));
        check_equal(unlink(scratch_path("backup/xac.sums.0")), 0);
        rot("xac.sums.0", 8192 + 8);
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 0, 16 pages: the pages are the backup's: their checksums are made anew\n");
        check_said("repaired      0 pages, 16 checksums\n");
        check_xac(0, "check", TOOL_ENV);
        rot(TOOL_FILE, 5 * 4096 + 40);
        tool_copy_file(tool_path(TOOL_FILE), scratch_path("backup/" TOOL_FILE));
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("not what the backup's own checksum says");
        check_xac(1, "check", TOOL_ENV);
}

static void a_directory_does_not_repair_itself(void)
{
        char option[300];

        tool_work(0, 20, TOOL_CLOSE);
        rot(TOOL_FILE, 5 * 4096 + 40);
        snprintf(option, sizeof(option), "--from=%s/../env", TOOL_ENV);
        check_xac(1, "repair", option, TOOL_ENV);
        check_said("are the same directory");
        check_xac(1, "check", TOOL_ENV);
}

/* ---- What is left stays damaged ---- */

/* A commit to that page. */
static int commit_to(unsigned page)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);
        int err;

        check_ok(xbegin(env, 0));
        words[page * 512 + 5]++;
        err = xend(env);
        check_ok(xac_close(env));
        return err;
}

/* Pages 0 to 5 are others than the backup's. */
static void work_and_back_up(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        tool_work(0, 6, TOOL_CLOSE);
}

static void check_left(unsigned page)
{
        check_xac(1, "check", TOOL_ENV);
        check_said("DAMAGED: accounts: offset");
        check_not_said("was changed since");
        check_code(commit_to(page), XAC_CORRUPT);
        check_xac(1, "check", TOOL_ENV);
}

static void pages_that_are_left_stay_damaged(void)
{
        work_and_back_up();
        rot(TOOL_FILE, 4 * 4096 + 40);
        rot(TOOL_FILE, 5 * 4096 + 40);
        rot(TOOL_FILE, 9 * 4096 + 40);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 16384, 2 pages: the backup's pages are others than the checksums are of: left as "
                   "they are\n");
        check_said("left          2\n");
        check_left(5);
        check_ok(commit_to(9));
        check_xac(1, "check", TOOL_ENV);
        check_equal(utimensat(AT_FDCWD, tool_path(TOOL_FILE), NULL, 0), 0); /* somebody takes it as it is */
        check_xac(4, "check", TOOL_ENV);
        check_ok(commit_to(5));
}

static void so_do_those_of_files_that_are_missing_or_cut(void)
{
        for (int is_cut = 0; is_cut < 2; is_cut++) {
                scratch_clear();
                work_and_back_up();
                if (is_cut)
                        cut(TOOL_FILE, 5000);
                else
                        check_equal(unlink(tool_path(TOOL_FILE)), 0);
                check_xac(1, "repair", from_backup(), TOOL_ENV);
                check_said(is_cut ? "accounts: offset 8192, 4 pages: the backup's pages are others"
                                  : "accounts: offset 0, 6 pages: the backup's pages are others");
                check_said("accounts: offset 24576, 10 pages: taken from the backup\n");
                check_said("repaired      1 file, 10 pages, 0 checksums\n");
                check_left(5);
                check_ok(commit_to(9));
                check_code(commit_to(2), XAC_CORRUPT);
        }
}

/* Zeros in the backup are not what was cut off here. */
static void zeros_are_no_proof(void)
{
        tool_work(0, 4, TOOL_CLOSE);
        copy_to_backup();
        tool_work(0, 16, TOOL_CLOSE);
        cut(TOOL_FILE, 8 * 4096);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 32768, 8 pages: the backup's pages are others");
        check_left(9);
}

static void what_had_no_checksums_is_missed_too(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        check_equal(unlink(tool_path("xac.sums.0")), 0);
        tool_work(0, 0, TOOL_CLOSE);
        cut(TOOL_FILE, 8 * 4096);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("left          8\n");
        check_left(9);
        check_ok(commit_to(7));
}

static void and_so_is_what_lost_them(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        rot("xac.sums.0", 8192 + 8);
        cut(TOOL_FILE, 8 * 4096);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("accounts: offset 0, 8 pages: the pages are the backup's: their checksums are made anew\n");
        check_said("left          8\n");
        check_left(9);
        check_ok(commit_to(7));
}

/* It fails where it would write behind `byte_len`, and writes nothing from then on. */
static void repair_until(uint64_t byte_len)
{
        const struct rlimit none = { 0, RLIM_INFINITY };
        struct rlimit before, core, least = { byte_len, RLIM_INFINITY };

        check_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        check_equal(getrlimit(RLIMIT_CORE, &core), 0);
        least.rlim_max = before.rlim_max;
        check_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
        check_equal(setrlimit(RLIMIT_CORE, &(struct rlimit){ none.rlim_cur, core.rlim_max }), 0);
        int status = tool_xac(tool_args("repair", from_backup(), TOOL_ENV));
        check_equal(setrlimit(RLIMIT_CORE, &core), 0);
        check_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        check_equal(status, 1);
}

static void a_repair_that_is_ended_midway_hides_nothing(void)
{
        work_and_back_up();
        rot(TOOL_FILE, 3 * 4096 + 40);
        rot(TOOL_FILE, 9 * 4096 + 40);
        rot(TOOL_FILE, 14 * 4096 + 40);
        repair_until(12 * 4096); /* 9 is repaired, 14 is not */
        check_xac(1, "check", TOOL_ENV);
        check_said("a repair of accounts was cut short");
        check_said("DAMAGED, in 2 places");
        check_code(commit_to(3), XAC_CORRUPT);
        check_code(commit_to(14), XAC_CORRUPT);
        check_xac(1, "repair", from_backup(), TOOL_ENV);
        check_said("repaired      1 page, 0 checksums\n");
        check_ok(commit_to(14));
        check_left(3);
}

static void the_next_one_ends_it(void)
{
        work_and_back_up();
        rot(TOOL_FILE, 9 * 4096 + 40);
        rot(TOOL_FILE, 14 * 4096 + 40);
        repair_until(12 * 4096);
        rot(TOOL_FILE, 14 * 4096 + 40); /* it is what it was */
        check_xac(0, "check", TOOL_ENV);
        check_said("a repair of accounts was cut short");
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_said("repaired      0 pages, 0 checksums\n");
        check_xac(0, "check", TOOL_ENV);
        check_not_said("note");
}

/* With its old checksums, but without its pages, nobody opens it. */
static void nor_does_one_of_a_file_that_is_missing_or_cut(void)
{
        xac_env *env;

        for (int is_cut = 0; is_cut < 2; is_cut++) {
                scratch_clear();
                work_and_back_up();
                if (is_cut)
                        cut(TOOL_FILE, 5000);
                else
                        check_equal(unlink(tool_path(TOOL_FILE)), 0);
                repair_until(8 * 4096); /* it does not get its length */
                check_xac(1, "check", TOOL_ENV);
                check_said("DAMAGED: accounts");
                check_code(xac_open(TOOL_ENV, 0, NULL, &env), XAC_CORRUPT);
                check_xac(1, "repair", from_backup(), TOOL_ENV);
                check_left(5);
                check_ok(commit_to(9));
        }
}

static void a_file_that_root_makes_is_its_owners(void)
{
        enum { SOMEBODY = 12345 };
        struct stat manifest, made;

        if (geteuid() != 0)
                isolate_skip("only root may give files away");
        tool_work(0, 20, TOOL_CLOSE);
        copy_to_backup();
        check_equal(chown(tool_path("xac.manifest"), SOMEBODY, SOMEBODY), 0);
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        check_xac(0, "repair", from_backup(), TOOL_ENV);
        check_equal(stat(tool_path("xac.manifest"), &manifest), 0);
        check_equal(stat(tool_path(TOOL_FILE), &made), 0);
        check_equal(made.st_uid, SOMEBODY);
        check_equal(made.st_gid, SOMEBODY);
        check_equal(made.st_mode, manifest.st_mode);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(rot_is_found),
                isolated_test(it_is_found_while_it_is_in_use),
                isolated_test(a_volatile_one_is_scrubbed_too),
                isolated_test(what_was_changed_by_others_is_not_scrubbed_away),
                isolated_test(what_has_no_checksums_gets_them),
                isolated_test(a_damaged_file_of_checksums_is_told),
                isolated_test(a_page_is_taken_from_a_backup),
                isolated_test(files_that_are_missing_or_cut_are_put_together),
                isolated_test(another_page_is_not_taken),
                isolated_test(a_page_of_before_is_not_believed),
                isolated_test(a_damaged_checksum_is_put_right),
                isolated_test(recovery_goes_on_after_a_repair),
                isolated_test(what_is_in_use_is_not_repaired),
                isolated_test(rot_in_both_is_not_believed),
                isolated_test(the_very_page_needs_no_checksum_of_the_backup),
                isolated_test(a_backup_without_checksums_is_believed_by_its_index),
                isolated_test(a_directory_does_not_repair_itself),
                isolated_test(pages_that_are_left_stay_damaged),
                isolated_test(so_do_those_of_files_that_are_missing_or_cut),
                isolated_test(zeros_are_no_proof),
                isolated_test(what_had_no_checksums_is_missed_too),
                isolated_test(and_so_is_what_lost_them),
                isolated_test(a_repair_that_is_ended_midway_hides_nothing),
                isolated_test(the_next_one_ends_it),
                isolated_test(nor_does_one_of_a_file_that_is_missing_or_cut),
                isolated_test(a_file_that_root_makes_is_its_owners),
        };
        return cmocka_run_group_tests_name("xac scrub, xac repair", tests, NULL, NULL);
}
