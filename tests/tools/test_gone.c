/* SPDX-License-Identifier: MIT */

/*
 * Shared memory of directories that were removed: an open, and `xac clean`, know them from directories that were moved,
 * are hidden, or lie in a file system that is not mounted (libxac/directory_mark.h). In doubt it stays. The
 * environments are volatile, so that their commits are nowhere else.
 */

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/own_shm.h"
#include "tests/tools/tool.h"

enum { COMMITS = 20, PARTS = 3, NOBODY = 65534 };

/* Is this root's own machine, with directories that have handles, and mounts that have numbers? */
static void need_certainty(void)
{
        static const char first[] = "user:[4026531837]";
        char link[sizeof(first)] = "";
        struct statx st;

        if (geteuid() != 0 || readlink("/proc/self/ns/user", link, sizeof(link)) != (ssize_t)sizeof(first) - 1 ||
            memcmp(link, first, sizeof(first) - 1) != 0)
                isolate_skip("only root of the machine can know");
        if (statx(AT_FDCWD, scratch_path("."), 0, 0x4000, &st) || !(st.stx_mask & 0x4000))
                isolate_skip("mounts have no numbers here");
}

static void start(void)
{
        need_certainty();
        own_shm("256m");
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        check_equal(own_shm_files(), PARTS);
}

static void expect_kept(void)
{
        check_xac(0, "clean");
        check_said("gone, or moved; some commits in it are nowhere else");
        check_equal(own_shm_files(), PARTS);
}

static void expect_removed(void)
{
        check_xac(0, "clean", "--dry-run");
        check_said("was removed: nobody can ever use it");
        check_xac(0, "clean");
        check_said("removed");
        check_equal(own_shm_files(), 0);
}

static void be_another(int unused, void *nothing)
{
        xac_env *other;

        (void)unused;
        (void)nothing;
        check_ok(xac_open(scratch_path("another"), XAC_CREATE, NULL, &other));
        check_ok(xac_close(other));
}

/* By a process that has opened nothing yet: it looks at once. */
static void open_another(void)
{
        crew_join(crew_fork(be_another, 0, NULL));
}

static void expect_usable(void)
{
        tool_work(XAC_VOLATILE, 0, TOOL_CLOSE);
        check_equal(tool_sum(), COMMITS);
}

/* ---- Removed ---- */

static void a_removed_directory_is_known(void)
{
        start();
        scratch_shell("rm -r '%s'", TOOL_ENV);
        check_xac(0, "stat");
        check_said("'xac clean' would remove");
        expect_removed();
}

static void who_makes_another_environment_removes_it(void)
{
        start();
        scratch_shell("mv '%s' '%s.aside'", TOOL_ENV, TOOL_ENV);
        open_another();
        check_equal(own_shm_files(), PARTS);
        scratch_shell("rm -r '%s.aside'", TOOL_ENV);
        open_another();
        check_equal(own_shm_files(), 0);
}

/* ---- Not removed, or nobody knows ---- */

static void a_directory_that_somebody_holds_stays(void)
{
        start();
        const int held = open(TOOL_ENV, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(held >= 0);
        scratch_shell("rm -r '%s'", TOOL_ENV);
        expect_kept();
        open_another();
        check_equal(own_shm_files(), PARTS);
        close(held);
        expect_removed();
}

static void a_directory_that_was_moved_stays(void)
{
        start();
        scratch_shell("mkdir '%s' && mv '%s' '%s'", scratch_path("there"), TOOL_ENV, scratch_path("there"));
        expect_kept();
        scratch_shell("mv '%s'/* '%s'", scratch_path("there"), scratch_path("."));
        expect_usable();
}

static void a_directory_that_a_mount_hides_stays(void)
{
        start();
        scratch_shell("mkdir '%s' && mount --bind '%s' '%s' && mount -t tmpfs none '%s'", scratch_path("seen"),
                      TOOL_ENV, scratch_path("seen"), TOOL_ENV);
        expect_kept();
        scratch_shell("umount '%s' && mv '%s' '%s.aside'", TOOL_ENV, TOOL_ENV, TOOL_ENV);
        expect_kept(); /* it is where it was mounted, and aside */
        scratch_shell("umount '%s' && mv '%s.aside' '%s'", scratch_path("seen"), TOOL_ENV, TOOL_ENV);
        expect_usable();
}

static void clean_as_nobody(int unused, void *unused_too)
{
        (void)unused, (void)unused_too;
        check(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
        check_xac(0, "clean");
        check_not_said("was removed");
}

static void other_users_do_not_know(void)
{
        start();
        scratch_shell("rm -r '%s'", TOOL_ENV);
        crew_join(crew_fork(clean_as_nobody, 0, NULL));
        check_equal(own_shm_files(), PARTS);
}

/* ---- File systems that come and go ---- */

static const char *disk(void)
{
        return scratch_path("disk");
}

static const char *device(void)
{
        static char name[64];
        FILE *said;

        if (!name[0] && (said = popen("losetup -f", "r")) != NULL) {
                if (fscanf(said, "%63s", name) != 1)
                        name[0] = '\0';
                pclose(said);
        }
        return name;
}

/* Two disks that are the same, but for what is written to them from now on; the environment is to be on the first. */
static void make_disks(void)
{
        char command[1024];

        need_certainty();
        own_shm("256m");
        snprintf(command, sizeof(command),
                 "mkdir '%s' && truncate -s 16M '%s.1' && mkfs.ext4 -q '%s.1' && cp --sparse=always '%s.1' '%s.2'",
                 disk(), disk(), disk(), disk(), disk());
        if (system(command))
                isolate_skip("no ext4 file system can be made here");
}

/* The device goes with the mount, also if the test fails. */
static void mount_disk(int no)
{
        char command[1024];

        snprintf(command, sizeof(command), "losetup '%s' '%s.%d' && mount '%s' '%s' && losetup -d '%s'", device(),
                 disk(), no, device(), disk(), device());
        if (system(command))
                isolate_skip("it cannot be mounted here, or others use the same device");
}

static void unmount_disk(void)
{
        scratch_shell("umount '%s'", disk());
}

static void another_disk_at_the_same_device_tells_nothing(void)
{
        make_disks();
        mount_disk(1);
        scratch_shell("mkdir '%s/env' && ln -s disk/env '%s'", disk(), TOOL_ENV);
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        unmount_disk();
        expect_kept();
        mount_disk(2);
        expect_kept();
        open_another();
        check_equal(own_shm_files(), PARTS);
        unmount_disk();
        mount_disk(1);
        check_xac(0, "clean");
        check_said("the next open goes on with it");
        expect_usable();
        unmount_disk();
}

static void a_disk_that_stays_mounted_tells(void)
{
        make_disks();
        mount_disk(1);
        scratch_shell("mkdir '%s/env' && ln -s disk/env '%s'", disk(), TOOL_ENV);
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        scratch_shell("rm -r '%s/env'", disk());
        expect_removed();
        unmount_disk();
}

/* Another directory has its number: the generation differs. */
static void the_number_may_be_another_directorys(void)
{
        enum { TRIES = 20 };
        struct stat before, now = { 0 };
        char path[300];

        make_disks();
        mount_disk(1);
        scratch_shell("mkdir '%s/in' '%s/in/env' && ln -s disk/in/env '%s'", disk(), disk(), TOOL_ENV);
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        check_equal(stat(TOOL_ENV, &before), 0);
        scratch_shell("rm -r '%s/in/env'", disk());
        for (int i = 0; i < TRIES && now.st_ino != before.st_ino; i++) {
                snprintf(path, sizeof(path), "%s/in/other.%d", disk(), i);
                check_equal(mkdir(path, 0700), 0);
                check_equal(stat(path, &now), 0);
        }
        if (now.st_ino == before.st_ino)
                expect_removed();
        unmount_disk();
        if (now.st_ino != before.st_ino)
                isolate_skip("the number is not used again");
}

static void memory_that_was_unmounted_stays_until_something_takes_its_number(void)
{
        need_certainty();
        own_shm("256m");
        scratch_shell("mkdir '%s' && mount -t tmpfs none '%s' && mkdir '%s/env' && ln -s disk/env '%s'", disk(), disk(),
                      disk(), TOOL_ENV);
        tool_work(XAC_VOLATILE, COMMITS, TOOL_KILL);
        scratch_shell("mv '%s/env' '%s/aside'", disk(), disk());
        expect_kept();
        scratch_shell("umount '%s'", disk());
        expect_kept();
        check_xac(0, "clean", "--force");
        check_equal(own_shm_files(), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_removed_directory_is_known),
                isolated_test(who_makes_another_environment_removes_it),
                isolated_test(a_directory_that_somebody_holds_stays),
                isolated_test(a_directory_that_was_moved_stays),
                isolated_test(a_directory_that_a_mount_hides_stays),
                isolated_test(other_users_do_not_know),
                isolated_test(another_disk_at_the_same_device_tells_nothing),
                isolated_test(a_disk_that_stays_mounted_tells),
                isolated_test(the_number_may_be_another_directorys),
                isolated_test(memory_that_was_unmounted_stays_until_something_takes_its_number),
        };
        return cmocka_run_group_tests_name("gone", tests, NULL, NULL);
}
