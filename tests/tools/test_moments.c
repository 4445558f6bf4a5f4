/* SPDX-License-Identifier: MIT */

/*
 * Files of an environment that are not of one moment: an older copy that was brought up to date half-way; checksums
 * that were zeroed, with their pages or without, or removed; a file that was cut where no page had been written. No
 * tool calls them sound unless they show what was committed (recovery/seal.h).
 *
 * Not seen by anybody: a log whose end is missing (docs/NEXT.md).
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/tool.h"

enum { PAGE = 4096, CHECKSUMS_AT = 8192, BEFORE = 20, AFTER = 13 };

/* ---- Mixtures of two moments ---- */

static const char *const parts[] = { TOOL_FILE, "xac.sums.0", "xac.manifest", "xac.area.*", "xac.log.*" };

enum { MANIFEST = 1 << 2, LOG = 1 << 4, MIXTURES = 1 << 5 };

static void keep_as(const char *name)
{
        char path[300];

        snprintf(path, sizeof(path), "%s", scratch_path(name));
        scratch_shell("rm -rf '%s' && cp -a '%s' '%s'", path, TOOL_ENV, path);
}

/* The environment has the parts of `mask` from the later moment, each as `cp` leaves it. */
static void mix(unsigned mask)
{
        char first[300], second[300];

        snprintf(first, sizeof(first), "%s", scratch_path("first"));
        snprintf(second, sizeof(second), "%s", scratch_path("second"));
        scratch_shell("rm -rf '%s'/* && cp -p '%s'/* '%s'/", TOOL_ENV, first, TOOL_ENV);
        for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
                if (mask >> i & 1)
                        scratch_shell("rm -f '%s'/%s && cp -p '%s'/%s '%s'/", TOOL_ENV, parts[i], second, parts[i],
                                      TOOL_ENV);
}

static const char *from_other(void)
{
        static char option[300];

        snprintf(option, sizeof(option), "--from=%s", scratch_path("other"));
        return option;
}

/* Does a backup show what was committed? 1, or the status that keeps it from that. */
static int shows(uint64_t sum, int *backed_up)
{
        char path[300];

        snprintf(path, sizeof(path), "%s", scratch_path("backup"));
        scratch_shell("rm -rf '%s'", path);
        *backed_up = tool_xac(tool_args("backup", TOOL_ENV, path));
        return *backed_up == 0 && tool_sum_of_file(path) == sum;
}

static void judge_mixture(unsigned mask, uint64_t expected)
{
        const int checked = tool_xac(tool_args("check", TOOL_ENV));
        int backed_up;
        const int is_right = shows(expected, &backed_up);

        if (!is_right && (!checked || !backed_up))
                check_failed(__FILE__, __LINE__, "mixture %#x: check %d, backup %d", mask, checked, backed_up);
        mix(mask);
        const int repaired = tool_xac(tool_args("repair", from_other(), TOOL_ENV));
        if (!repaired && !shows(expected, &backed_up))
                check_failed(__FILE__, __LINE__, "mixture %#x: repaired, backup %d", mask, backed_up);
}

static void mixtures_of(enum tool_end end)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        keep_as("first");
        keep_as("other");
        tool_work(0, AFTER, end);
        if (end == TOOL_KILL)
                tool_power_cut();
        keep_as("second");
        for (unsigned mask = 0; mask < MIXTURES; mask++) {
                if (end == TOOL_KILL && mask & MANIFEST && !(mask & LOG))
                        continue; /* a log whose end is missing */
                mix(mask);
                judge_mixture(mask, mask & MANIFEST ? BEFORE + AFTER : BEFORE);
        }
}

static void of_two_that_were_closed(void)
{
        mixtures_of(TOOL_CLOSE);
}

static void of_one_that_was_killed(void)
{
        mixtures_of(TOOL_KILL);
}

/* A program takes it as it is, and says so. */
static void a_program_says_what_it_takes(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        keep_as("first");
        tool_work(0, AFTER, TOOL_CLOSE);
        keep_as("second");
        mix(MANIFEST | LOG);
        check_xac(4, "check", TOOL_ENV);
        check_said("xac.sums.0 and accounts are of another moment than xac.manifest");
        check_xac(1, "check", "--unchanged", TOOL_ENV);
        check_xac(4, "recover", TOOL_ENV);
        check_xac(4, "scrub", TOOL_ENV);
        check_xac(4, "backup", TOOL_ENV, scratch_path("backup"));
        check_said("of another moment");
        check_equal(tool_sum(), BEFORE);
        check_xac(0, "check", TOOL_ENV);
        check_xac(0, "scrub", TOOL_ENV);
}

/* ---- Checksums that are zeros ---- */

static void zero(const char *name, uint64_t offset, size_t byte_len)
{
        char command[600];

        snprintf(command, sizeof(command), "dd if=/dev/zero of='%s' bs=1 seek=%llu count=%zu conv=notrunc status=none",
                 tool_path(name), (unsigned long long)offset, byte_len);
        scratch_shell("touch -r '%s' '%s' && %s && touch -r '%s' '%s'", tool_path(name), scratch_path("time"), command,
                      scratch_path("time"), tool_path(name));
}

static void zero_checksums(void)
{
        zero("xac.sums.0", CHECKSUMS_AT, 4096);
}

static void zero_both(void)
{
        zero_checksums();
        zero(TOOL_FILE, 0, (size_t)TOOL_PAGES * PAGE);
}

static void remove_checksums(void)
{
        check_equal(unlink(tool_path("xac.sums.0")), 0);
}

static void remove_file(void)
{
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        zero_checksums();
}

static void (*const harms[])(void) = { zero_checksums, zero_both, remove_checksums, remove_file };

static void make(enum tool_end end)
{
        scratch_clear();
        tool_work(0, BEFORE, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, scratch_path("other"));
        if (end == TOOL_CLOSE)
                return;
        tool_work(0, 1, TOOL_KILL);
        tool_power_cut();
}

static void zeros_hide_nothing(enum tool_end end)
{
        for (unsigned i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
                make(end);
                harms[i]();
                check(tool_xac(tool_args("check", TOOL_ENV)) != 0);
                check(tool_xac(tool_args("scrub", TOOL_ENV)) != 0);
                check(tool_xac(tool_args("backup", TOOL_ENV, scratch_path("backup"))) != 0);
                if (tool_xac(tool_args("repair", from_other(), TOOL_ENV)) != 0) {
                        check(tool_xac(tool_args("check", TOOL_ENV)) != 0);
                        continue;
                }
                check_xac(0, "check", TOOL_ENV);
                check_equal(tool_sum(), end == TOOL_CLOSE ? BEFORE : BEFORE + 1);
        }
}

static void zeros_hide_nothing_at_rest(void)
{
        zeros_hide_nothing(TOOL_CLOSE);
}

static void zeros_hide_nothing_after_a_crash(void)
{
        zeros_hide_nothing(TOOL_KILL);
}

/* Who wants it as it is gets it so. */
static void they_can_be_taken_as_they_are(void)
{
        make(TOOL_CLOSE);
        zero_both();
        check_xac(1, "check", TOOL_ENV);
        check_said("the checksums of accounts are not those that xac.manifest was written for");
        check_xac(0, "scrub", "--sum", TOOL_ENV);
        check_xac(0, "check", TOOL_ENV);
        check_xac(0, "scrub", TOOL_ENV);
        make(TOOL_KILL);
        remove_checksums();
        check_xac(1, "recover", TOOL_ENV);
        check_said("the checksums of accounts are not those that xac.manifest was written for");
        check_xac(0, "recover", "--give-up-damaged", TOOL_ENV);
        check_equal(tool_sum(), BEFORE + 1);
        check_xac(4, "check", TOOL_ENV);
        check_xac(4, "repair", from_other(), TOOL_ENV);
        check_said("16 pages without a checksum");
        check_xac(0, "scrub", "--sum", TOOL_ENV);
        check_xac(0, "check", TOOL_ENV);
        check_xac(0, "repair", from_other(), TOOL_ENV);
}

/* What lies behind the end of the file is zeros, so a harmed sector of checksums there excuses nothing. */
static void a_harmed_sector_behind_the_end_hides_nothing(void)
{
        make(TOOL_CLOSE);
        tool_work(0, AFTER, TOOL_CLOSE);
        tool_damage("xac.sums.0", CHECKSUMS_AT + 7 * 512 + 508, 1);
        check_xac(0, "check", TOOL_ENV);
        tool_damage("xac.sums.0", CHECKSUMS_AT + 508, 1);
        tool_copy_file(scratch_path("other/" TOOL_FILE), tool_path(TOOL_FILE));
        check_xac(1, "repair", from_other(), TOOL_ENV);
        check_said("16 pages: the pages are the backup's");
        check_said("its checksums (xac.sums.0) are not those that xac.manifest was written for");
        check_xac(1, "check", TOOL_ENV);
}

/* ---- Checksums of a session that has not ended ---- */

/* The pages from `first` on are written, and at home; so the double-write buffer has them. */
static void checkpoint_and_die(int first, void *unused)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused;
        for (unsigned page = (unsigned)first; page < (unsigned)first + 4; page++)
                tool_commit(env, words, page, 0);
        check_ok(xac_checkpoint(env));
        raise(SIGKILL);
}

static void have_checkpointed(int first)
{
        pid_t pid = crew_fork(checkpoint_and_die, first, NULL);

        check(WIFSIGNALED(crew_status(pid)));
}

/* No page has gone home yet, so the seal is that of no checksums. */
static void checksums_that_are_removed_are_missed(void)
{
        tool_work(0, BEFORE, TOOL_KILL);
        tool_power_cut();
        remove_checksums();
        check_xac(4, "check", TOOL_ENV);
        check_xac(4, "recover", TOOL_ENV);
        check_xac(4, "check", TOOL_ENV);
        check_equal(tool_sum(), BEFORE);
}

/* A disk that was writing checksums may have zeroed them: of a page beside that is no zeros nothing is known. */
static void a_hole_knows_nothing_of_what_is_written(void)
{
        have_checkpointed(0);
        tool_power_cut();
        zero_checksums();
        check_xac(0, "check", TOOL_ENV);
        tool_damage(TOOL_FILE, 9UL * PAGE + 40, 1);
        check_xac(4, "check", TOOL_ENV);
        check_xac(0, "recover", TOOL_ENV);
        check_xac(4, "check", TOOL_ENV);
        check_xac(4, "backup", TOOL_ENV, scratch_path("backup"));
}

static void commit_beside_and_die(int page, void *unused)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused;
        for (unsigned i = 0; i < 4; i++)
                tool_commit(env, words, i, 0);
        check_ok(xac_checkpoint(env));
        tool_commit(env, words, (unsigned)page, 0);
        raise(SIGKILL);
}

/* Recovery makes a page out of what is at home and what the log changes in it: that is known no better than both. */
static void what_recovery_makes_of_it_is_not_known(void)
{
        check(WIFSIGNALED(crew_status(crew_fork(commit_beside_and_die, 9, NULL))));
        tool_power_cut();
        zero_checksums();
        tool_damage(TOOL_FILE, 9UL * PAGE + 400, 1);
        check_xac(4, "check", TOOL_ENV);
        check_xac(0, "recover", TOOL_ENV);
        check_xac(4, "check", TOOL_ENV);
        check_said("1 page without one yet");
}

/* Nor does a sector that is not what it says. */
static void nor_does_a_sector_that_is_harmed(void)
{
        have_checkpointed(0);
        tool_power_cut();
        tool_damage("xac.sums.0", CHECKSUMS_AT + 508, 1);
        check_xac(4, "check", TOOL_ENV);
        check_said("12 pages without one yet");
        check_xac(0, "recover", TOOL_ENV);
        check_xac(4, "check", TOOL_ENV);
        check_said("12 pages without one yet");
}

/* What a power cut may have harmed behind the end of the file excuses nothing, either. */
static void a_hole_behind_the_end_is_no_excuse(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        keep_as("first");
        tool_work(0, AFTER, TOOL_CLOSE);
        have_checkpointed(0);
        tool_power_cut();
        tool_copy_file(scratch_path("first/" TOOL_FILE), tool_path(TOOL_FILE));
        tool_copy_file(scratch_path("first/xac.sums.0"), tool_path("xac.sums.0"));
        check_equal(truncate(tool_path("xac.sums.0"), CHECKSUMS_AT + 512), 0);
        check_xac(1, "check", TOOL_ENV);
        check_xac(1, "recover", TOOL_ENV);
        check_said("the checksums of accounts are not those that xac.manifest was written for");
}

/* Shared memory of a process that was killed is there, so nobody recovers anything (M7). */
static void zeros_hide_nothing_beside_shared_memory(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        have_checkpointed(0);
        zero_both();
        check_xac(4, "scrub", TOOL_ENV);
        check_xac(4, "backup", TOOL_ENV, scratch_path("backup"));
        tool_work(0, 0, TOOL_CLOSE);
        check_xac(4, "check", TOOL_ENV);
        check_xac(4, "scrub", TOOL_ENV);
}

/* Nor does a copy of before that has the double-write buffer, too, which says what was going home. */
static void nor_does_an_older_copy(void)
{
        char first[300];

        tool_work(0, BEFORE, TOOL_CLOSE);
        keep_as("first");
        snprintf(first, sizeof(first), "%s", scratch_path("first"));
        have_checkpointed(0);
        scratch_shell("cp -p '%s'/" TOOL_FILE " '%s'/xac.sums.0 '%s'/xac.area.* '%s'/", first, first, first, TOOL_ENV);
        check_xac(1, "scrub", TOOL_ENV);
        tool_work(0, 0, TOOL_CLOSE);
        check_xac(4, "check", TOOL_ENV);
        check_said("16 pages without one yet");
}

/* Nor does a page of the double-write buffer whose checksum is zeroed alone: its sector says that. */
static void nor_do_they_in_a_sector(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        have_checkpointed(0);
        zero(TOOL_FILE, PAGE, PAGE);
        zero("xac.sums.0", CHECKSUMS_AT + 4, 4);
        check_xac(1, "scrub", TOOL_ENV);
        check_xac(4, "backup", TOOL_ENV, scratch_path("backup"));
}

/* ---- A copy that went on by itself ---- */

static void put_back(const char *name)
{
        char from[300];

        snprintf(from, sizeof(from), "%s", scratch_path(name));
        scratch_shell("rm -f '%s'/* && cp -p '%s'/* '%s'/", TOOL_ENV, from, TOOL_ENV);
}

/* Two programs go on from one state, and write as many manifests. The shared memory of the second one is there when the
 * files of the first one come back: it is not theirs (R15). */
static void memory_of_another_copy_is_not_believed(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        keep_as("first");
        have_checkpointed(4);
        tool_power_cut();
        keep_as("second");
        put_back("first");
        check(WIFSIGNALED(crew_status(crew_fork(commit_beside_and_die, 9, NULL))));
        put_back("second");
        check_xac(0, "backup", TOOL_ENV, scratch_path("backup"));
        check_equal(tool_sum_of_file(scratch_path("backup")), BEFORE + 4);
        check_equal(tool_sum(), BEFORE + 4);
}

/* ---- A file that was cut ---- */

static void grow_and_die(int unused, void *unused_arg)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused, (void)unused_arg;
        check(xac_mmap(env, TOOL_FILE, 2UL * TOOL_PAGES * PAGE, 0) != MAP_FAILED);
        tool_commit(env, words, 0, 0);
        raise(SIGKILL);
}

static void a_cut_is_seen_where_no_page_was_written(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        pid_t pid = crew_fork(grow_and_die, 0, NULL);
        check(WIFSIGNALED(crew_status(pid)));
        tool_power_cut();
        check_xac(0, "check", TOOL_ENV);
        check_equal(truncate(tool_path(TOOL_FILE), (off_t)TOOL_PAGES * PAGE), 0);
        check_xac(1, "check", TOOL_ENV);
        check_said("accounts has 65536 bytes, and had 131072: it was cut");
        check_xac(1, "scrub", TOOL_ENV);
        check_xac(1, "backup", TOOL_ENV, scratch_path("backup"));
        check_xac(1, "recover", TOOL_ENV);
        check_said("it was cut");
        check_equal(truncate(tool_path(TOOL_FILE), 2L * TOOL_PAGES * PAGE), 0);
        check_xac(0, "recover", TOOL_ENV);
        check_equal(tool_sum(), BEFORE + 1);
}

/* Whoever goes on with the shared memory gives it its length back. */
static void a_cut_is_seen_beside_shared_memory(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        pid_t pid = crew_fork(grow_and_die, 0, NULL);
        check(WIFSIGNALED(crew_status(pid)));
        check_equal(truncate(tool_path(TOOL_FILE), (off_t)TOOL_PAGES * PAGE), 0);
        check_xac(1, "scrub", TOOL_ENV);
        check_said("accounts: offset 65536");
        tool_work(0, 0, TOOL_CLOSE);
        check_xac(0, "check", TOOL_ENV);
        check_equal(tool_sum(), BEFORE + 1);
        scratch_shell("test $(stat -c %%s '%s') = %d", tool_path(TOOL_FILE), 2 * TOOL_PAGES * PAGE);
}

/* What was no zeros is damaged. */
static void a_cut_that_took_pages_stays_damage(void)
{
        tool_work(0, BEFORE, TOOL_CLOSE);
        have_checkpointed(0);
        check_equal(truncate(tool_path(TOOL_FILE), (off_t)(TOOL_PAGES - 2) * PAGE), 0);
        check_xac(1, "scrub", TOOL_ENV);
        tool_work(0, 0, TOOL_CLOSE);
        check_xac(1, "check", TOOL_ENV);
        check_said("accounts: offset 57344: the page is not what its checksum says");
}

/* ---- A file that was removed ---- */

static void find_it_missing(int unused, void *unused_arg)
{
        xac_env *env;

        (void)unused, (void)unused_arg;
        check_ok(xac_open(TOOL_ENV, 0, NULL, &env));
        check(xac_mmap(env, TOOL_FILE, (size_t)TOOL_PAGES * PAGE, 0) == MAP_FAILED);
        check_equal(errno, EIO);
        raise(SIGKILL);
}

/* Zeros in its place would be sound, to whoever goes on. */
static void a_removed_file_is_not_made_anew(void)
{
        make(TOOL_CLOSE);
        have_checkpointed(0);
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        check(WIFSIGNALED(crew_status(crew_fork(find_it_missing, 0, NULL))));
        check_xac(1, "scrub", TOOL_ENV);
        check_said("accounts: offset 0");
        check_xac(1, "backup", TOOL_ENV, scratch_path("backup"));
        check_xac(1, "check", TOOL_ENV);
        check_said("accounts: it is missing");
        check_xac(1, "repair", from_other(), TOOL_ENV);
        check_said("12 pages: taken from the backup\n");
        check_said("left          4\n");
        check_xac(1, "check", TOOL_ENV);
}

static void one_that_is_missing_with_its_checksums_is_missed(void)
{
        make(TOOL_CLOSE);
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        remove_checksums();
        check_xac(1, "scrub", TOOL_ENV);
        check_said("accounts: it is missing, and so are its checksums");
        check_xac(1, "check", TOOL_ENV);
        check_xac(1, "backup", TOOL_ENV, scratch_path("backup"));
        tool_work(0, 0, TOOL_CLOSE);
        check_equal(tool_sum(), 0);
}

static void nor_does_recovery_go_on_without_it(void)
{
        make(TOOL_CLOSE);
        tool_work(0, 0, TOOL_KILL); /* the log needs none of its pages */
        tool_power_cut();
        check_equal(unlink(tool_path(TOOL_FILE)), 0);
        check_xac(1, "recover", TOOL_ENV);
        check_said("accounts: it is missing");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(of_two_that_were_closed),
                isolated_test(of_one_that_was_killed),
                isolated_test(a_program_says_what_it_takes),
                isolated_test(zeros_hide_nothing_at_rest),
                isolated_test(zeros_hide_nothing_after_a_crash),
                isolated_test(they_can_be_taken_as_they_are),
                isolated_test(a_harmed_sector_behind_the_end_hides_nothing),
                isolated_test(checksums_that_are_removed_are_missed),
                isolated_test(a_hole_knows_nothing_of_what_is_written),
                isolated_test(what_recovery_makes_of_it_is_not_known),
                isolated_test(nor_does_a_sector_that_is_harmed),
                isolated_test(a_hole_behind_the_end_is_no_excuse),
                isolated_test(zeros_hide_nothing_beside_shared_memory),
                isolated_test(nor_does_an_older_copy),
                isolated_test(nor_do_they_in_a_sector),
                isolated_test(memory_of_another_copy_is_not_believed),
                isolated_test(a_cut_is_seen_where_no_page_was_written),
                isolated_test(a_cut_is_seen_beside_shared_memory),
                isolated_test(a_cut_that_took_pages_stays_damage),
                isolated_test(a_removed_file_is_not_made_anew),
                isolated_test(one_that_is_missing_with_its_checksums_is_missed),
                isolated_test(nor_does_recovery_go_on_without_it),
        };

        return cmocka_run_group_tests_name("moments", tests, NULL, NULL);
}
