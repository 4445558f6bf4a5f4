/* SPDX-License-Identifier: MIT */

/* Who has a byte of a file locked is found, also by who may not open the file; and a wait says whom it waits for. */

#include "base/byte_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/heard.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

static int open_file(void)
{
        int fd = open(scratch_path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        check(fd >= 0);
        return fd;
}

static void only_writers_may_lock(void)
{
        static const mode_t modes[][2] = { { 0600, 0600 }, { 0644, 0600 }, { 0640, 0600 }, { 0660, 0660 },
                                           { 0664, 0660 }, { 0666, 0666 }, { 0622, 0622 }, { 0777, 0777 },
                                           { 0755, 0711 }, { 0646, 0606 } };

        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
                struct stat st;
                int fd = open_file();

                check_equal(byte_lock_mode(modes[i][0]), modes[i][1]);
                check_equal(fchmod(fd, modes[i][0]), 0);
                check_ok(byte_lock_tighten(fd));
                check_equal(fstat(fd, &st), 0);
                check_equal(st.st_mode & 0777, modes[i][1]);
                close(fd);
        }
}

/* ---- Held, or not ---- */

enum { FIRST = 5, LAST = 7, OTHER = 1000 };

static struct crew_turn *turn;

static void hold_until_killed(int index, void *arg)
{
        int fd = open_file();

        (void)index;
        (void)arg;
        for (uint64_t byte = FIRST; byte <= LAST; byte++)
                check_ok(sys_lock_byte(fd, byte, false));
        check_ok(sys_share_byte(fd, OTHER, false));
        crew_turn_pass(turn);
        pause();
}

static pid_t start_holder(void)
{
        turn = crew_shared(sizeof(*turn));
        close(open_file());
        pid_t holder = crew_fork(hold_until_killed, 0, NULL);
        crew_turn_await(turn, 1);
        return holder;
}

static void check_held(const struct byte_lock_file *file)
{
        check_equal(byte_lock_is_held(file, FIRST - 1, 1), 0);
        check_equal(byte_lock_is_held(file, FIRST - 1, 2), 1);
        check_equal(byte_lock_is_held(file, FIRST + 1, 1), 1);
        check_equal(byte_lock_is_held(file, LAST, 1), 1);
        check_equal(byte_lock_is_held(file, LAST + 1, OTHER - LAST - 1), 0);
        check_equal(byte_lock_is_held(file, LAST + 1, 0), 1);
        check_equal(byte_lock_is_held(file, OTHER + 1, 0), 0);
}

static void what_is_locked_is_seen_without_the_file(void)
{
        struct stat st;
        const pid_t holder = start_holder();
        struct byte_lock_file file = { .fd = open_file() };

        check_held(&file);
        check_equal(fstat(file.fd, &st), 0);
        close(file.fd);
        file = (struct byte_lock_file){ .fd = -1, .device = st.st_dev, .inode = st.st_ino };
        check_held(&file);
        crew_kill(holder);
        check_equal(byte_lock_is_held(&file, 0, 0), 0);
}

/* More lines than are read at once. */
static void one_of_many_locks_is_seen(void)
{
        enum { MANY = 400 };
        struct stat st;
        int fds[2] = { open_file(), open_file() };

        check_equal(fstat(fds[0], &st), 0);
        const struct byte_lock_file file = { .fd = -1, .device = st.st_dev, .inode = st.st_ino };
        for (uint64_t byte = 0; byte < MANY; byte++)
                check_ok(sys_lock_byte(fds[byte / 2 % 2], byte * 2, false)); /* neighbours would be one lock */
        for (uint64_t byte = 0; byte < 2 * MANY; byte++)
                check_equal(byte_lock_is_held(&file, byte, 1), byte % 2 == 0);
        close(fds[0]);
        close(fds[1]);
}

/* ---- By whom ---- */

static void the_holder_is_found(void)
{
        struct byte_lock_holder holder;
        const pid_t pid = start_holder();
        int fd = open_file();

        check(byte_lock_find_holder(fd, FIRST, &holder));
        check_equal(holder.pid, pid);
        check_equal(strncmp(holder.program, "test_byte_lock", 14), 0);
        check(byte_lock_find_holder(fd, OTHER, &holder));
        check(!byte_lock_find_holder(fd, FIRST - 1, &holder));
        crew_kill(pid);
        check(!byte_lock_find_holder(fd, FIRST, &holder));
        close(fd);
}

static void kill_when_heard(int index, void *holder)
{
        char text[80];

        (void)index;
        snprintf(text, sizeof(text), "process %d (test_byte_lock) has had the lock", (int)*(pid_t *)holder);
        check(is_heard_soon(text));
        check(was_heard(scratch_path("file")));
        check_equal(kill(*(pid_t *)holder, SIGKILL), 0);
}

static void a_wait_says_whom_it_waits_for(void)
{
        pid_t holder = start_holder();
        int fd = open_file();

        hear();
        pid_t killer = crew_fork(kill_when_heard, 0, &holder);
        const uint64_t began_ns = crew_clock_ns();
        check_ok(byte_lock_wait(fd, FIRST));
        check(crew_clock_ns() - began_ns > 900000000); /* not before */
        crew_join(killer);
        crew_kill(holder);
        close(fd);
}

static void who_need_not_wait_says_nothing(void)
{
        pid_t holder = start_holder();
        int fd = open_file();

        hear();
        check_ok(byte_lock_share(fd, OTHER)); /* others share it, too */
        check_ok(byte_lock_wait(fd, LAST + 1));
        crew_kill(holder);
        check_ok(byte_lock_wait(fd, FIRST));
        check(!was_heard("lock"));
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(only_writers_may_lock),         isolated_test(what_is_locked_is_seen_without_the_file),
                isolated_test(one_of_many_locks_is_seen),     isolated_test(the_holder_is_found),
                isolated_test(a_wait_says_whom_it_waits_for), isolated_test(who_need_not_wait_says_nothing),
        };

        return cmocka_run_group_tests_name("byte_lock", tests, NULL, NULL);
}
