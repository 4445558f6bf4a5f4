/* SPDX-License-Identifier: MIT */

/*
 * xac clean, and xac stat without a directory: in a /dev/shm of the test's own, so that nobody else's is touched.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libxac/ground/control.h"

#include "tests/support/own_shm.h"
#include "tests/tools/tool.h"

enum { COMMITS = 20, PARTS = 3, NOBODY = 65534 };

/* ---- The stage ---- */

static void start(void)
{
        own_shm("256m");
}

static void remove_directory(void)
{
        char command[512];

        snprintf(command, sizeof(command), "rm -rf '%s'", TOOL_ENV);
        check_equal(system(command), 0);
}

/* The name of a part of env's; noted, as the directory may go. */
static const char *part_name(const char *part)
{
        static struct stat st;
        static char name[128];

        if (!st.st_ino)
                check_equal(stat(TOOL_ENV, &st), 0);
        snprintf(name, sizeof(name), "/dev/shm/xac.%llx.%llx.%s", (unsigned long long)st.st_dev,
                 (unsigned long long)st.st_ino, part);
        return name;
}

static void edit_header(size_t offset, const void *bytes, size_t byte_len)
{
        int fd = open(part_name("control"), O_RDWR | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pwrite(fd, bytes, byte_len, (off_t)offset), (ssize_t)byte_len);
        close(fd);
}

static struct crew_turn *turn;

static void sit(int unused, void *flags)
{
        xac_env *env;
        uint64_t *words = tool_open(*(int *)flags, &env);

        (void)unused;
        tool_commit(env, words, 0, 0);
        crew_turn_pass(turn);
        for (;;)
                pause();
}

static pid_t seat_process(int flags)
{
        pid_t pid;

        turn = crew_shared(sizeof(*turn));
        pid = crew_fork(sit, 0, &flags);
        crew_turn_await(turn, 1);
        return pid;
}

/* ---- What is removed ---- */

static void what_lost_its_directory_is_removed(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        remove_directory();
        check_equal(own_shm_files(), PARTS);
        check_xac(0, "clean", "--dry-run");
        check_said("would remove");
        check_said("its directory ");
        check_said(TOOL_ENV);
        check_equal(own_shm_files(), PARTS);
        check_xac(0, "stat");
        check_said("'xac clean' would remove");
        check_xac(0, "clean");
        check_said("removed");
        check_not_said("--force");
        check_equal(own_shm_files(), 0);
        check_xac(0, "clean");
        check_said("There is no shared memory");
}

static void it_can_be_named_by_where_it_was(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        remove_directory();
        check_xac(0, "clean", scratch_path("another"));
        check_said("no shared memory of that directory");
        check_xac(1, "clean", scratch_path("never/was"));
        check_equal(own_shm_files(), PARTS);
        check_xac(0, "clean", TOOL_ENV);
        check_equal(own_shm_files(), 0);
}

static void what_is_of_another_boot_is_removed(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        edit_header(offsetof(struct control, boot_id), "00000000", 8);
        check_xac(0, "clean");
        check_said("another boot");
        check_equal(own_shm_files(), 0);
        check_equal(tool_sum(), COMMITS); /* from the log, as after any restart */
}

static void what_no_open_would_believe_is_removed(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        edit_header(offsetof(struct control, uuid), "another uuid", 12);
        check_xac(0, "clean", TOOL_ENV);
        check_said("no open uses it");
        check_equal(own_shm_files(), 0);
        check_equal(tool_sum(), COMMITS);
}

static void what_was_never_finished_is_removed(void)
{
        const uint32_t no = 0;

        start();
        tool_work(0, COMMITS, TOOL_KILL);
        edit_header(offsetof(struct control, is_ready), &no, sizeof(no));
        check_xac(0, "clean");
        check_said("never finished");
        check_equal(own_shm_files(), 0);

        tool_work(0, 1, TOOL_KILL);
        check_equal(truncate(part_name("control"), 0), 0);
        check_xac(0, "clean");
        check_said("never finished");
        check_equal(own_shm_files(), 0);
        check_equal(tool_sum(), COMMITS + 1);
}

static void parts_without_a_control_part_are_removed(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        check_equal(unlink(part_name("control")), 0);
        check_xac(0, "clean");
        check_said("parts that nobody can use");
        check_equal(own_shm_files(), 0);
        check_equal(tool_sum(), COMMITS);
}

/* ---- What stays ---- */

static void what_the_next_open_goes_on_with_stays(void)
{
        start();
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        check_xac(0, "clean");
        check_said("the next open goes on with it");
        check_said("open it with a program");
        check_xac(0, "clean", "--force"); /* its name was not given */
        check_xac(1, "clean", TOOL_ENV);
        check_said("the next open goes on with it");
        check_equal(own_shm_files(), PARTS);
        tool_work(XAC_VOLATILE, 0, TOOL_CLOSE);
        check_equal(tool_sum(), COMMITS);
        check_equal(own_shm_files(), 0);
}

static void it_is_given_up_by_its_name(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        check_xac(0, "clean", "--force", "--dry-run", TOOL_ENV);
        check_equal(own_shm_files(), PARTS);
        check_xac(0, "clean", "--force", TOOL_ENV);
        check_equal(own_shm_files(), 0);
        check_equal(tool_sum(), COMMITS);
        check_xac(0, "clean", "--force", TOOL_ENV);
        check_said("no shared memory of that directory");
}

static void what_is_in_use_stays(void)
{
        pid_t pid;

        start();
        pid = seat_process(0);
        check_xac(3, "clean", "--force", TOOL_ENV);
        check_said("in use");
        part_name("control");
        remove_directory();
        check_xac(0, "clean", "--force");
        check_said("in use, although its directory is gone");
        check_xac(3, "clean", TOOL_ENV);
        check_xac(0, "stat");
        check_said("in use, although");
        check_said("processes (pids");
        check_equal(own_shm_files(), PARTS);
        check_equal(kill(pid, SIGSTOP), 0);
        check_xac(3, "clean", TOOL_ENV);
        crew_kill(pid);
        check_xac(0, "clean", TOOL_ENV);
        check_equal(own_shm_files(), 0);
}

/* Whatever its header says by now. */
static void what_is_in_use_stays_even_if_nobody_would_believe_it(void)
{
        const uint32_t no = 0;
        pid_t pid;

        start();
        pid = seat_process(0);
        edit_header(offsetof(struct control, is_ready), &no, sizeof(no));
        check_xac(0, "clean", "--force");
        edit_header(offsetof(struct control, boot_id), "00000000", 8);
        check_xac(0, "clean", "--force");
        check_equal(own_shm_files(), PARTS);
        crew_kill(pid);
        check_xac(0, "clean");
        check_equal(own_shm_files(), 0);
}

static void move_away(void)
{
        char command[1024];

        part_name("control");
        snprintf(command, sizeof(command), "mv '%s' '%s.aside'", TOOL_ENV, TOOL_ENV);
        check_equal(system(command), 0);
}

static void move_back(void)
{
        char command[1024];

        snprintf(command, sizeof(command), "mv '%s.aside' '%s'", TOOL_ENV, TOOL_ENV);
        check_equal(system(command), 0);
}

/* What may be the only copy stays. (test_gone: what is certainly nobody's.) */
static void commits_that_are_nowhere_else_stay(void)
{
        start();
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        move_away();
        check_xac(0, "clean");
        check_said("--force");
        check_equal(own_shm_files(), PARTS);
        move_back();
        tool_work(XAC_VOLATILE, 0, TOOL_CLOSE);
        check_equal(tool_sum(), COMMITS);

        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        move_away();
        check_xac(0, "clean", "--force");
        check_equal(own_shm_files(), 0);
}

static void nothing_on_disk_is_lost_with_a_directory_that_was_moved(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        move_away();
        check_xac(0, "clean");
        check_said("removed");
        move_back();
        check_equal(tool_sum(), COMMITS);
}

static void another_version_is_left_alone(void)
{
        const uint32_t version = CONTROL_VERSION - 1;

        start();
        tool_work(0, COMMITS, TOOL_KILL);
        edit_header(offsetof(struct control, version), &version, sizeof(version));
        remove_directory();
        check_xac(0, "clean", "--force");
        check_said("another version of libxac");
        check_equal(own_shm_files(), PARTS);
}

static void the_names_of_others_are_left_alone(void)
{
        static const char *const names[] = { "xac.zz.1.control",
                                             "xac.1.2.control.x",
                                             "xac.01.2.control",
                                             "xac.1.2.kontrolle",
                                             "xac.1.control",
                                             "xac.1.2.",
                                             "xac. 1.2.control",
                                             "xac.-1.2.pool",
                                             "xac.control",
                                             "xac.1.22222222222222222222222222222.pool",
                                             "other" };
        enum { NAMES = sizeof(names) / sizeof(names[0]) };
        char path[300];

        start();
        for (int i = 0; i < NAMES; i++) {
                snprintf(path, sizeof(path), "/dev/shm/%s", names[i]);
                scratch_write_file(path, "x", 1);
        }
        check_xac(0, "clean", "--force");
        check_said("There is no shared memory");
        check_equal(own_shm_files(), NAMES);
}

static void what_was_planted_is_not_followed(void)
{
        const char *victim = scratch_path("victim");
        char text[5] = "";

        start();
        scratch_write_file(victim, "dear", 4);
        check_equal(symlink(victim, "/dev/shm/xac.1.2.control"), 0);
        check_equal(symlink("/dev/zero", "/dev/shm/xac.1.3.control"), 0);
        check_equal(mkfifo("/dev/shm/xac.1.4.control", 0666), 0);
        check_equal(mkdir("/dev/shm/xac.1.5.control", 0777), 0);
        check_equal(symlink("nowhere", "/dev/shm/xac.1.6.control"), 0);
        check_xac(0, "clean", "--force");
        check_xac(0, "stat");
        check_equal(own_shm_files(), 5);
        scratch_read_file(victim, text, 4);
        check(strcmp(text, "dear") == 0);
}

/* ---- Numbers that somebody else has chosen ---- */

static void make_control_as_long(off_t byte_len)
{
        check_ok(truncate(part_name("control"), byte_len)); /* it takes no memory */
}

/* Each participant that a header speaks of is a look: nobody has more than there can be. */
static void participants_are_bounded(void)
{
        static const uint32_t counts[] = { 0, PARTICIPANTS_MAX + 1, INT32_MAX };

        start();
        for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                tool_work(0, COMMITS, TOOL_KILL);
                edit_header(offsetof(struct control, max_participants), &counts[i], sizeof(counts[i]));
                make_control_as_long((off_t)1 << 36);
                check_xac(0, "stat");
                check_xac(0, "clean", "--dry-run");
                check_not_said("would remove");
                tool_power_cut();
        }
}

/* A count of slots near 2^32 would make a loop begin again. */
static void slots_are_bounded(void)
{
        static const uint32_t counts[] = { 0, 1 << 24, UINT32_MAX - 16000 };

        start();
        for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                struct control control;

                tool_work(0, COMMITS, TOOL_KILL);
                scratch_read_file(part_name("control"), &control, offsetof(struct control, commit_lock));
                edit_header(offsetof(struct control, pool_slots), &counts[i], sizeof(counts[i]));
                make_control_as_long(
                        (off_t)control_layout(control.max_participants, counts[i], control.log_ring_bytes).end);
                check_xac(0, "stat", TOOL_ENV);
                check_said("needs recovery");
                tool_power_cut();
        }
}

/* What another user has put there is not looked at. */
static void memory_of_a_stranger_is_not_looked_at(void)
{
        if (geteuid() != 0)
                isolate_skip("only root can be two users");
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        check_ok(chown(part_name("control"), NOBODY, NOBODY));
        check_xac(1, "stat", TOOL_ENV);
        check_said("whom this one does not trust for it");
        check_xac(3, "recover", TOOL_ENV); /* there may be commits in it */
        check_ok(chown(part_name("control"), 0, 0));
        check_xac(0, "stat", TOOL_ENV);
        check_said("ended without xac_close");
        tool_power_cut();
}

static void no_control_characters_reach_the_terminal(void)
{
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        edit_header(offsetof(struct control, path), "/\033]0;x\007\n", 9);
        check_xac(0, "stat");
        check_said("/\\x1b]0;x\\x07\\x0a");
        check_xac(0, "clean", "--dry-run");
        check_not_said("\033");
}

/* ---- Several at one path ---- */

/* xac.DEVICE.INODE of the directory that is there now. */
static const char *name_of(char name[80])
{
        struct stat st;

        check_equal(stat(TOOL_ENV, &st), 0);
        snprintf(name, 80, "xac.%llx.%llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
        return name;
}

/* A directory is moved, another one made in its place, and both have left shared memory. */
static void leave_two(int flags, char older[80], char newer[80])
{
        char command[1024];

        start();
        tool_work(flags, COMMITS, TOOL_KILL);
        name_of(older);
        snprintf(command, sizeof(command), "mv '%s' '%s.aside'", TOOL_ENV, TOOL_ENV);
        check_equal(system(command), 0);
        tool_work(flags, COMMITS, TOOL_KILL);
        name_of(newer);
        check_equal(own_shm_files(), 2 * PARTS);
}

static void a_path_stands_for_all_that_were_there(void)
{
        char older[80], newer[80];

        leave_two(0, older, newer);
        check_xac(1, "clean", "--dry-run", TOOL_ENV);
        check_said("would remove");
        check_said(older);
        check_said("kept");
        check_said(newer);
        check_xac(1, "clean", TOOL_ENV); /* the older one, whose commits are in its files, too */
        check_equal(own_shm_files(), PARTS);
        check_equal(tool_sum(), COMMITS);
}

static void force_takes_nothing_if_a_path_is_that_of_several(void)
{
        char older[80], newer[80];

        leave_two(XAC_VOLATILE, older, newer);
        check_xac(1, "clean", "--force", TOOL_ENV);
        check_said("path of several");
        check_said(older);
        check_said(newer);
        check_equal(own_shm_files(), 2 * PARTS);
}

/* What is printed beside either of them does no harm to the other. */
static void what_is_advised_names_one(void)
{
        char older[80], newer[80], advice[120];

        leave_two(XAC_VOLATILE, older, newer);
        check_xac(0, "stat");
        snprintf(advice, sizeof(advice), "xac clean --force %s\n", older);
        check_said(advice);
        snprintf(advice, sizeof(advice), "xac clean --force %s\n", newer);
        check_said(advice);
        check_xac(0, "stat", TOOL_ENV);
        check_said(advice);
        check_xac(1, "clean", older);
        check_said("kept");
        check_xac(0, "clean", "--force", "--dry-run", older);
        check_equal(own_shm_files(), 2 * PARTS);
        check_xac(0, "clean", "--force", older);
        check_not_said("xac clean");
        check_equal(own_shm_files(), PARTS);
        check_xac(0, "clean", "--force", older);
        check_said("no shared memory of that name");
        tool_work(XAC_VOLATILE, 0, TOOL_CLOSE);
        check_equal(tool_sum(), COMMITS);
}

static void the_name_of_what_is_there_gives_it_up(void)
{
        char older[80], newer[80];

        leave_two(XAC_VOLATILE, older, newer);
        check_xac(0, "clean", "--force", newer);
        check_equal(own_shm_files(), PARTS);
        check_xac(0, "clean", "--force", TOOL_ENV); /* one is left: the older one, which was there */
        check_equal(own_shm_files(), 0);
}

static void what_is_in_use_stays_whatever_was_there_before(void)
{
        char older[80], newer[80];
        pid_t pid;

        leave_two(0, older, newer);
        pid = seat_process(0);
        check_xac(3, "clean", "--force", newer);
        check_xac(3, "clean", "--force", TOOL_ENV);
        check_equal(own_shm_files(), PARTS);
        crew_kill(pid);
        check_equal(tool_sum(), COMMITS + 1);
}

static void a_moved_directory_is_known_by_where_it_is(void)
{
        start();
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        move_away();
        check_xac(1, "clean", scratch_path("env.aside"));
        check_said("the next open goes on with it");
        check_xac(0, "clean", "--force", scratch_path("env.aside"));
        check_equal(own_shm_files(), 0);
}

/* ---- Permissions ---- */

static void clean_as_nobody(int expected, void *text)
{
        check(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
        check_xac(expected, "clean", "--force");
        check_said(text);
}

static void what_is_not_ours_to_remove_stays(void)
{
        static char denied[] = "Permission denied", refused[] = "not permitted";

        if (geteuid() != 0)
                isolate_skip("only root can become somebody else");
        start();
        tool_work(0, COMMITS, TOOL_KILL);
        part_name("control");
        remove_directory();
        crew_join(crew_fork(clean_as_nobody, 0, denied));
        check_equal(chmod(scratch_path("."), 0755), 0);
        for (int part = 0; part < PARTS; part++)
                check_equal(chmod(part_name((const char *[]){ "control", "heads", "pool" }[part]), 0666), 0);
        crew_join(crew_fork(clean_as_nobody, 1, refused));
        check_equal(own_shm_files(), PARTS);
}

/* ---- Beside others ---- */

enum { OPENERS = 3, OPENINGS = 60 };

static void open_again_and_again(int index, void *unused)
{
        (void)unused;
        for (int i = 0; i < OPENINGS; i++) {
                if (index == OPENERS) {
                        check_xac(0, "clean", "--force");
                        continue;
                }
                xac_env *env;
                uint64_t *words = tool_open(0, &env);

                tool_commit(env, words, (unsigned)index, XAC_NOSYNC);
                check_ok(xac_close(env));
        }
}

/* Each last close removes shared memory, each first open makes it anew, half made at every look. */
static void an_open_does_not_notice(void)
{
        start();
        crew_processes(OPENERS + 1, open_again_and_again, NULL);
        check_equal(tool_sum(), OPENERS * OPENINGS);
        check_equal(own_shm_files(), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_lost_its_directory_is_removed),
                isolated_test(it_can_be_named_by_where_it_was),
                isolated_test(what_is_of_another_boot_is_removed),
                isolated_test(what_no_open_would_believe_is_removed),
                isolated_test(what_was_never_finished_is_removed),
                isolated_test(parts_without_a_control_part_are_removed),
                isolated_test(what_the_next_open_goes_on_with_stays),
                isolated_test(it_is_given_up_by_its_name),
                isolated_test(what_is_in_use_stays),
                isolated_test(what_is_in_use_stays_even_if_nobody_would_believe_it),
                isolated_test(commits_that_are_nowhere_else_stay),
                isolated_test(nothing_on_disk_is_lost_with_a_directory_that_was_moved),
                isolated_test(another_version_is_left_alone),
                isolated_test(the_names_of_others_are_left_alone),
                isolated_test(what_was_planted_is_not_followed),
                isolated_test(participants_are_bounded),
                isolated_test(slots_are_bounded),
                isolated_test(memory_of_a_stranger_is_not_looked_at),
                isolated_test(no_control_characters_reach_the_terminal),
                isolated_test(a_path_stands_for_all_that_were_there),
                isolated_test(force_takes_nothing_if_a_path_is_that_of_several),
                isolated_test(what_is_advised_names_one),
                isolated_test(the_name_of_what_is_there_gives_it_up),
                isolated_test(what_is_in_use_stays_whatever_was_there_before),
                isolated_test(a_moved_directory_is_known_by_where_it_is),
                isolated_test(what_is_not_ours_to_remove_stays),
                isolated_timed(an_open_does_not_notice, 120),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
