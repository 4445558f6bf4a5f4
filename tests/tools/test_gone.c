/* SPDX-License-Identifier: MIT */

/*
 * Shared memory of directories that were removed: an open, and `xac clean`, know them from directories that were moved,
 * are hidden, or lie in a file system that is not mounted (libxac/ground/directory_mark.h). In doubt it stays. The
 * environments are volatile, so that their commits are nowhere else.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libxac/care/leftover.h"
#include "libxac/ground/directory_mark.h"
#include "tests/support/own_shm.h"
#include "tests/tools/tool.h"

enum { COMMITS = 20, PARTS = 3, NOBODY = 65534, STATX_MOUNT = 0x4000 /* STATX_MNT_ID_UNIQUE */ };

/* Is this root's own machine, with directories that have handles, and mounts that have numbers? */
static void need_certainty(void)
{
        static const char first[] = "user:[4026531837]";
        char link[sizeof(first)] = "";
        struct statx st;

        if (geteuid() != 0 || readlink("/proc/self/ns/user", link, sizeof(link)) != (ssize_t)sizeof(first) - 1 ||
            memcmp(link, first, sizeof(first) - 1) != 0)
                isolate_skip("only root of the machine can know: this is another user, or in a namespace of users");
        if (statx(AT_FDCWD, scratch_path("."), 0, STATX_MOUNT, &st) || !(st.stx_mask & STATX_MOUNT))
                isolate_skip("mounts have no numbers here: before Linux 6.8");
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

/* ---- A directory that goes ---- */

static struct directory_mark mark_of_going;
static uint64_t device_of_going;

static void remove_at_once(const char *path)
{
        struct stat st;
        const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        check(directory >= 0);
        check_equal(fstat(directory, &st), 0);
        directory_mark_make(directory, &mark_of_going);
        device_of_going = st.st_dev;
        close(directory);
        scratch_shell("rm -r '%s'", path);
}

/* Any process of the machine may hold it for a moment, as by reading /proc/PID/maps of one that dies. */
static void await_gone(void)
{
        enum { TRIES = 5000, PAUSE_MS = 2 };

        for (int i = 0; !directory_mark_is_gone(&mark_of_going, device_of_going, -1); i++) {
                check(i < TRIES);
                crew_sleep_ms(PAUSE_MS);
        }
}

static void remove_directory(const char *path)
{
        remove_at_once(path);
        await_gone();
}

/* ---- Removed ---- */

static void a_removed_directory_is_known(void)
{
        start();
        remove_directory(TOOL_ENV);
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
        remove_directory(scratch_path("env.aside"));
        open_another();
        check_equal(own_shm_files(), 0);
}

/* There may be any number of names before it. A look begins where the last of the process ended. */
static void look_twice(int unused, void *nothing)
{
        struct stat st;
        const int directory = open(scratch_path("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        (void)unused;
        (void)nothing;
        check(directory >= 0);
        check_equal(fstat(directory, &st), 0);
        leftovers_sweep(directory, st.st_dev);
        leftovers_sweep(directory, st.st_dev);
        close(directory);
}

static void each_name_has_its_turn(void)
{
        enum { OTHERS = 100 };
        struct stat st;
        char name[64];

        start();
        check_equal(stat(TOOL_ENV, &st), 0);
        for (unsigned i = 1; i <= OTHERS; i++) {
                snprintf(name, sizeof(name), "/dev/shm/xac.%llx.%x.control", (unsigned long long)st.st_dev, i);
                scratch_write_file(name, "", 0);
        }
        remove_directory(TOOL_ENV);
        crew_join(crew_fork(look_twice, 0, NULL));
        check_equal(own_shm_files(), OTHERS);
}

/* ---- Not removed, or nobody knows ---- */

/* Whatever lies at the path, it may never answer. */
static void who_opens_another_asks_no_path(void)
{
        char event[4096];

        start();
        scratch_shell("mv '%s' '%s.aside' && mkdir '%s'", TOOL_ENV, TOOL_ENV, TOOL_ENV);
        const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        check(watch >= 0 && inotify_add_watch(watch, TOOL_ENV, IN_OPEN) >= 0);
        open_another();
        check_equal(read(watch, event, sizeof(event)), -1);
        check_equal(errno, EAGAIN);
        check_equal(own_shm_files(), PARTS);
        close(watch);
}

static void a_directory_that_somebody_holds_stays(void)
{
        start();
        const int held = open(TOOL_ENV, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(held >= 0);
        remove_at_once(TOOL_ENV);
        expect_kept();
        open_another();
        check_equal(own_shm_files(), PARTS);
        close(held);
        await_gone();
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

static bool does(const char *format, ...)
{
        char command[1024];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(command, sizeof(command), format, arguments);
        va_end(arguments);
        return system(command) == 0;
}

/* Two disks that are the same, but for what is written to them from now on; the environment is to be on the first. */
static void make_disks(void)
{
        need_certainty();
        own_shm("256m");
        if (!does("command -v mkfs.ext4 losetup >/dev/null"))
                isolate_skip("mkfs.ext4 or losetup is missing (Debian: e2fsprogs, mount)");
        scratch_shell("mkdir '%s' && truncate -s 16M '%s.1' && mkfs.ext4 -q '%s.1' && cp --sparse=always '%s.1' '%s.2'",
                      disk(), disk(), disk(), disk(), disk());
}

/* All disks of a test are to come to the same device. */
static char device[64];
static bool is_chosen;

/* Another program may take the device that was free a moment ago. */
static bool take_device(int no)
{
        FILE *said = device[0] ? NULL : popen("losetup -f", "r");

        if (said) {
                if (fscanf(said, "%63s", device) != 1)
                        device[0] = '\0';
                pclose(said);
        }
        if (device[0] && does("losetup '%s' '%s.%d'", device, disk(), no))
                return is_chosen = true;
        if (!is_chosen)
                device[0] = '\0';
        return false;
}

/* The device goes with the mount, also if the test fails. */
static void mount_disk(int no)
{
        enum { TRIES = 50, PAUSE_MS = 20 };

        if (access("/dev/loop-control", F_OK) != 0)
                isolate_skip("there are no loop devices here: no /dev/loop-control");
        for (int i = 0; !take_device(no); i++) {
                if (i == TRIES)
                        isolate_skip("losetup fails: loop devices are not permitted here, or others keep the same one");
                crew_sleep_ms(PAUSE_MS);
        }
        if (does("mount '%s' '%s' && losetup -d '%s'", device, disk(), device))
                return;
        does("losetup -d '%s'", device);
        isolate_skip("an ext4 disk cannot be mounted here: mount says why above");
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
        remove_directory(scratch_path("disk/env"));
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
        remove_directory(scratch_path("disk/in/env"));
        for (int i = 0; i < TRIES && now.st_ino != before.st_ino; i++) {
                snprintf(path, sizeof(path), "%s/in/other.%d", disk(), i);
                check_equal(mkdir(path, 0700), 0);
                check_equal(stat(path, &now), 0);
        }
        if (now.st_ino == before.st_ino)
                expect_removed();
        unmount_disk();
        if (now.st_ino != before.st_ino)
                isolate_skip("ext4 has given the number to none of 20 new directories");
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
                isolated_test(each_name_has_its_turn),
                isolated_test(who_opens_another_asks_no_path),
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
