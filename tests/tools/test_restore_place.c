/* SPDX-License-Identifier: MIT */

/*
 * Where xac restore, and xac backup, put what they make: into a directory that is not there yet, or is empty, which
 * keeps its owner and its permissions; and whose the files are.
 */

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/leeway.h"
#include "tests/tools/tool.h"

#define BACKUP   scratch_path("backup")
#define RESTORED scratch_path("restored")

enum { ALICE = 54321, STAFF = 54322, BOB = 54323 };

static struct stat stat_of(const char *path)
{
        struct stat st;

        check_equal(lstat(path, &st), 0);
        return st;
}

static void make_backup(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, BACKUP);
}

static void make_place(mode_t mode)
{
        check_equal(mkdir(RESTORED, 0700), 0);
        check_equal(chmod(RESTORED, mode), 0);
}

/* The directory and all in it. */
static void check_owner(uid_t user, gid_t group)
{
        char command[1200];

        snprintf(command, sizeof(command), "test -z \"$(find '%s' ! -uid %u -o ! -gid %u)\"", RESTORED, (unsigned)user,
                 (unsigned)group);
        scratch_shell("%s", command);
}

/* ---- An empty directory ---- */

static void an_empty_directory_is_filled(void)
{
        make_backup();
        make_place(0751);
        check_xac(0, "restore", BACKUP, RESTORED);
        check_equal(tool_sum_of_file(RESTORED), 20);
        check_equal(stat_of(RESTORED).st_mode & 07777, 0751);
        check_xac(0, "check", RESTORED);
        check_equal(mkdir(scratch_path("empty"), 0700), 0);
        check_xac(0, "backup", TOOL_ENV, scratch_path("empty"));
        check_xac(0, "check", scratch_path("empty"));
}

static void what_is_not_empty_is_left_alone(void)
{
        make_backup();
        make_place(0700);
        scratch_shell("echo mine > '%s/.notes'", RESTORED);
        check_xac(1, "restore", BACKUP, RESTORED);
        check_said("is there already, and not empty");
        scratch_shell("test \"$(cat '%s/.notes')\" = mine && rm '%s/.notes'", RESTORED, RESTORED);
        check_equal(rmdir(RESTORED), 0);
        check_equal(symlink("elsewhere", RESTORED), 0);
        check_equal(mkdir(scratch_path("elsewhere"), 0700), 0);
        check_xac(1, "restore", BACKUP, RESTORED);
        check_said("is there already");
        check_equal(rmdir(scratch_path("elsewhere")), 0);
}

/* Somebody may have given an environment of his such a name. */
static void an_environment_in_the_place_of_the_partial_stays(void)
{
        make_backup();
        check_equal(rename(TOOL_ENV, scratch_path(".restored.partial")), 0);
        check_xac(1, "restore", BACKUP, RESTORED);
        check_said(".restored.partial, beside it, is in the way; remove it");
        check_xac(1, "backup", BACKUP, RESTORED);
        check_said(".restored.partial, beside it, is in the way; remove it");
        check_xac(0, "check", scratch_path(".restored.partial"));
        check_equal(tool_sum_of_file(scratch_path(".restored.partial")), 20);
}

/* Up to the end the directory is as it was; who begins anew finds it so. */
static void killed_in_between_it_stays_empty(void)
{
        int status;

        tool_work(0, 20, TOOL_CLOSE);
        make_place(0750);
        pid_t pid = tool_start(tool_args("backup", "--rate", "100", TOOL_ENV, RESTORED), STDERR_FILENO);
        for (struct leeway left = leeway_of(5000); access(scratch_path(".restored.partial/" TOOL_FILE), F_OK) != 0;)
                check(leeway_pause(&left));
        check_equal(kill(pid, SIGKILL), 0);
        check_equal(waitpid(pid, &status, 0), pid);
        check_equal(stat_of(RESTORED).st_mode & 07777, 0750);
        check_xac(0, "backup", TOOL_ENV, RESTORED);
        check_xac(0, "check", RESTORED);
        check(access(scratch_path(".restored.partial"), F_OK) != 0);
}

/* A backup that stands still while it copies. 0: it was quicker. */
static pid_t stopped_backup(void)
{
        int status;
        pid_t pid = tool_start(tool_args("backup", "--rate", "65536", TOOL_ENV, RESTORED), STDERR_FILENO);

        for (struct leeway left = leeway_of(5000); access(scratch_path(".restored.partial"), F_OK) != 0;)
                check(leeway_pause(&left));
        check_equal(kill(pid, SIGSTOP), 0);
        check_equal(waitpid(pid, &status, WUNTRACED), pid);
        if (WIFSTOPPED(status) && access(scratch_path(".restored.partial"), F_OK) == 0)
                return pid;
        if (WIFSTOPPED(status)) {
                check_equal(kill(pid, SIGCONT), 0);
                check_equal(waitpid(pid, &status, 0), pid);
        }
        return 0;
}

/* Somebody puts something there meanwhile. */
static void what_comes_meanwhile_is_not_lost(void)
{
        int status;
        pid_t pid;

        tool_work(0, 20, TOOL_CLOSE);
        make_place(0700);
        while (!(pid = stopped_backup()))
                scratch_shell("rm -rf '%s' && mkdir -m 0700 '%s'", RESTORED, RESTORED);
        scratch_shell("echo mine > '%s/notes'", RESTORED);
        check_equal(kill(pid, SIGCONT), 0);
        check_equal(waitpid(pid, &status, 0), pid);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        scratch_shell("test \"$(ls '%s')\" = notes", RESTORED);
        check(access(scratch_path(".restored.partial"), F_OK) != 0);
}

static void a_mount_point_is_none(void)
{
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
                isolate_skip("only root may mount something");
        make_backup();
        make_place(0700);
        check_equal(mount("tmpfs", RESTORED, "tmpfs", 0, NULL), 0);
        check_xac(1, "restore", BACKUP, RESTORED);
        check_said("is a mount point: name a directory in it");
        char inside[600];
        snprintf(inside, sizeof(inside), "%s/in", RESTORED);
        check_xac(0, "restore", BACKUP, inside);
        check_equal(umount(RESTORED), 0);
}

/* ---- Owners ---- */

static void only_for_root(void)
{
        if (geteuid() != 0)
                isolate_skip("only root gives files away");
        check_equal(chmod(scratch_path("."), 0755), 0);
}

static void root_keeps_the_owner(void)
{
        only_for_root();
        make_backup();
        scratch_shell("chown -R %d:%d '%s'", ALICE, STAFF, BACKUP);
        check_xac(0, "restore", BACKUP, RESTORED);
        check_owner(ALICE, STAFF);
        check_equal(tool_sum_of_file(RESTORED), 20);
}

static void of_an_empty_directory_too(void)
{
        only_for_root();
        make_backup();
        make_place(0750);
        check_equal(chown(RESTORED, BOB, STAFF), 0);
        check_xac(0, "restore", BACKUP, RESTORED);
        check_owner(BOB, STAFF);
        check_equal(stat_of(RESTORED).st_mode & 07777, 0750);
}

/* Who may write beside it made it in advance, to get what is put there. */
static void a_stranger_gets_nothing(void)
{
        only_for_root();
        make_backup();
        check_equal(chmod(scratch_path("."), 01777), 0);
        make_place(0777);
        check_equal(chown(RESTORED, BOB, STAFF), 0);
        check_xac(1, "restore", BACKUP, RESTORED);
        check_said("would get all that is in it");
        check_xac(1, "backup", TOOL_ENV, RESTORED);
        check_said("would get all that is in it");
        check_equal(rmdir(RESTORED), 0);
}

static void somebody_is_named(void)
{
        only_for_root();
        make_backup();
        check_xac(0, "restore", "--owner=54321:54322", BACKUP, RESTORED);
        check_owner(ALICE, STAFF);
        scratch_shell("rm -r '%s'", RESTORED);
        check_xac(0, "restore", "--owner=root", BACKUP, RESTORED);
        check_owner(0, 0);
        check_xac(2, "restore", "--owner=nobody-of-that-name", BACKUP, scratch_path("none"));
        check_said("there is no user");
        check_xac(2, "restore", "--owner=54321", BACKUP, scratch_path("none"));
        check_said("give one, USER:GROUP");
        check_xac(2, "restore", "--owner=0:no-group-of-that-name", BACKUP, scratch_path("none"));
        check_said("there is no group");
        check_xac(2, "restore", "--owner=", BACKUP, scratch_path("none"));
        check_xac(2, "restore", "--check", "--owner=0", BACKUP);
}

static void as_alice(int unused, void *unused_too)
{
        (void)unused, (void)unused_too;
        check_equal(setresgid(ALICE, ALICE, ALICE), 0);
        check_equal(setresuid(ALICE, ALICE, ALICE), 0);
        check_xac(1, "restore", "--owner=54323:54323", BACKUP, scratch_path("given"));
        check_said("only root may do that");
        check(access(scratch_path("given"), F_OK) != 0);
        check_xac(1, "restore", BACKUP, RESTORED);
        check_said("belongs to another user");
        check_xac(0, "restore", BACKUP, scratch_path("own"));
}

static void others_may_not(void)
{
        only_for_root();
        make_backup();
        check_equal(chmod(scratch_path("."), 0777), 0);
        scratch_shell("chmod -R a+rX '%s'", BACKUP);
        make_place(0755);
        crew_join(crew_fork(as_alice, 0, NULL));
        check_equal(stat_of(scratch_path("own")).st_uid, ALICE);
}

/* What is damaged is found while it is copied: whose it may not be, before. */
static void as_alice_of_what_is_damaged(int unused, void *unused_too)
{
        (void)unused, (void)unused_too;
        check_equal(setresgid(ALICE, ALICE, ALICE), 0);
        check_equal(setresuid(ALICE, ALICE, ALICE), 0);
        check_xac(1, "restore", "--owner=54323:54323", BACKUP, scratch_path("given"));
        check_said("could not be given to user 54323 and group 54323: only root may do that");
        check(access(scratch_path("given"), F_OK) != 0);
        check_xac(1, "restore", BACKUP, scratch_path("own"));
        check_not_said("could not be given");
}

static void owners_are_asked_before_anything_is_copied(void)
{
        only_for_root();
        make_backup();
        scratch_shell("printf x | dd of='%s/" TOOL_FILE "' bs=1 seek=4100 conv=notrunc status=none", BACKUP);
        check_equal(chmod(scratch_path("."), 0777), 0);
        scratch_shell("chmod -R a+rX '%s'", BACKUP);
        crew_join(crew_fork(as_alice_of_what_is_damaged, 0, NULL));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(an_empty_directory_is_filled),
                isolated_test(what_is_not_empty_is_left_alone),
                isolated_test(an_environment_in_the_place_of_the_partial_stays),
                isolated_test(killed_in_between_it_stays_empty),
                isolated_test(what_comes_meanwhile_is_not_lost),
                isolated_test(a_mount_point_is_none),
                isolated_test(root_keeps_the_owner),
                isolated_test(of_an_empty_directory_too),
                isolated_test(a_stranger_gets_nothing),
                isolated_test(somebody_is_named),
                isolated_test(others_may_not),
                isolated_test(owners_are_asked_before_anything_is_copied),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
