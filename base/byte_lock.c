/* SPDX-License-Identifier: MIT */
#include "base/byte_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/say.h"
#include "base/sys.h"

#define PATIENCE_NS UINT64_C(1000000000)

/* ---- Who can take it ---- */

int byte_lock_tighten(int fd)
{
        struct stat st;
        int err = sys_stat(fd, &st);
        const mode_t mode = err ? 0 : st.st_mode & 0777;

        if (!err && byte_lock_mode(mode) != mode)
                err = sys_chmod(fd, byte_lock_mode(mode));
        return err == -EPERM || err == -EACCES || err == -EROFS || err == -ENOSYS || err == -EOPNOTSUPP ? 0 : err;
}

/* ---- What is held ---- */

enum { TEXT_BYTES = 4096, IS_FOUND = 1 };

/* Bytes of a file. */
struct stretch {
        dev_t device;
        ino_t inode;
        uint64_t first, last;
};

/* Devices that have no number of their own, as those of btrfs and overlayfs, are called otherwise by stat(2). */
static bool is_device(const struct stretch *stretch, unsigned major_no, unsigned minor_no)
{
        const unsigned wanted = major(stretch->device);

        return major_no == wanted && (!wanted || minor_no == minor(stretch->device));
}

/* A line as "1: OFDLCK ADVISORY WRITE -1 08:02:4711 0 EOF": kinds, pid, device and inode, first and last byte. One of a
 * process that waits has an arrow, and counts nothing; nor do locks of flock(2) and leases. */
static bool is_lock_of(const char *line, const struct stretch *stretch)
{
        unsigned major_no, minor_no;
        unsigned long long inode, first;
        char kind[8], last[24];

        return sscanf(line, " %*d: %7s %*s %*s %*d %x:%x:%llu %llu %23s", kind, &major_no, &minor_no, &inode, &first,
                      last) == 6 &&
               (strcmp(kind, "OFDLCK") == 0 || strcmp(kind, "POSIX") == 0) && inode == stretch->inode &&
               is_device(stretch, major_no, minor_no) && first <= stretch->last &&
               (last[0] == 'E' || strtoull(last, NULL, 10) >= stretch->first);
}

/* What is left of `text` behind its whole lines is moved to its beginning. */
static bool look_at_lines(char *text, const struct stretch *stretch)
{
        char *line = text;
        bool is_held = false;

        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
                *end = '\0';
                is_held |= is_lock_of(line, stretch);
        }
        memmove(text, line, strlen(line) + 1);
        return is_held;
}

/* The kernel tells some 80 locks at a time. *is_whole: that were all. */
static int look_through(int fd, const struct stretch *stretch, bool *is_held, bool *is_whole)
{
        char text[2 * TEXT_BYTES] = "";
        uint64_t offset = 0;
        int err = 0;

        *is_held = false;
        for (; !err && !*is_held; offset += TEXT_BYTES / 2) {
                const size_t there = strlen(text);

                if (there > TEXT_BYTES)
                        return -EINVAL; /* no list of locks */
                memset(text + there, 0, sizeof(text) - there);
                err = sys_read_all(fd, text + there, TEXT_BYTES / 2, offset);
                if (!err || err == -ENODATA)
                        *is_held = look_at_lines(text, stretch);
        }
        *is_whole = offset <= TEXT_BYTES / 2;
        return err == -ENODATA ? 0 : err;
}

/* A lock that goes while the list is read makes others move to the front, and one may be passed over. */
static int look_at_list(int fd, const struct stretch *stretch)
{
        enum { LOOKS = 3 };
        bool is_held = false, is_whole = false;
        int err = 0;

        for (int i = 0; !err && !is_held && !is_whole && i < LOOKS; i++)
                err = look_through(fd, stretch, &is_held, &is_whole);
        return is_held ? 1 : err;
}

int byte_lock_is_held(const struct byte_lock_file *file, uint64_t offset, uint64_t count)
{
        const struct stretch stretch = { .device = file->device,
                                         .inode = file->inode,
                                         .first = offset,
                                         .last = count ? offset + count - 1 : UINT64_MAX };
        int fd;
        int err;

        if (file->fd >= 0)
                return sys_is_range_locked(file->fd, offset, count);
        err = sys_open(AT_FDCWD, "/proc/locks", O_RDONLY, 0, &fd);
        if (err)
                return err;
        err = look_at_list(fd, &stretch);
        sys_close(fd);
        return err;
}

/* ---- Who holds it ---- */

struct search {
        struct byte_lock_holder *holder;
        const _Atomic uint32_t *is_over; /* nobody wants to know any more; NULL: somebody always does */
        struct stretch stretch;
        int processes;   /* /proc */
        int process;     /* /proc/PID */
        int descriptors; /* /proc/PID/fdinfo */
};

/* All that fits, up to the end of the file. */
static int read_text(int directory, const char *name, char text[TEXT_BYTES])
{
        int fd;
        int err = sys_open(directory, name, O_RDONLY, 0, &fd);

        if (err)
                return err;
        memset(text, 0, TEXT_BYTES);
        err = sys_read_all(fd, text, TEXT_BYTES - 1, 0);
        sys_close(fd);
        return err == -ENODATA ? 0 : err;
}

static bool is_over(const struct search *search)
{
        return search->is_over && atomic_load(search->is_over);
}

/* Is the descriptor one of that file? Its lock's line does not tell, where devices have no number of their own. */
static bool is_of_file(const struct search *search, const char *descriptor)
{
        const struct stretch *stretch = &search->stretch;
        char name[40];
        struct stat st;

        snprintf(name, sizeof(name), "fd/%.20s", descriptor);
        return !fstatat(search->process, name, &st, 0) && st.st_dev == stretch->device && st.st_ino == stretch->inode;
}

static int look_at_descriptor(void *search_, const char *name)
{
        const struct search *search = search_;
        char text[TEXT_BYTES];

        if (is_over(search))
                return IS_FOUND;
        if (read_text(search->descriptors, name, text))
                return 0; /* closed meanwhile */
        for (const char *lock = strstr(text, "\nlock:"); lock; lock = strstr(lock + 1, "\nlock:"))
                if (is_lock_of(lock + strlen("\nlock:"), &search->stretch))
                        return is_of_file(search, name) ? IS_FOUND : 0;
        return 0;
}

static void note_holder(const struct search *search, const char *pid)
{
        char text[TEXT_BYTES] = "";

        search->holder->pid = (pid_t)strtol(pid, NULL, 10);
        (void)read_text(search->process, "comm", text);
        text[strcspn(text, "\n")] = '\0';
        snprintf(search->holder->program, sizeof(search->holder->program), "%.16s", text);
}

/* 0 also of what may not be looked at, or ends meanwhile. */
static int look_at_process(void *search_, const char *name)
{
        struct search *search = search_;
        int is_found = 0;

        if (strspn(name, "0123456789") != strlen(name) ||
            sys_open(search->processes, name, O_RDONLY | O_DIRECTORY, 0, &search->process))
                return 0;
        if (!sys_open(search->process, "fdinfo", O_RDONLY | O_DIRECTORY, 0, &search->descriptors)) {
                is_found = sys_list(search->descriptors, look_at_descriptor, search) == IS_FOUND;
                sys_close(search->descriptors);
        }
        if (is_found)
                note_holder(search, name);
        sys_close(search->process);
        return is_found;
}

static bool find_holder(int fd, uint64_t offset, const _Atomic uint32_t *is_over, struct byte_lock_holder *holder)
{
        struct search search = { .holder = holder, .is_over = is_over, .stretch = { .first = offset, .last = offset } };
        struct stat st;
        bool is_found;

        if (sys_stat(fd, &st) || sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0, &search.processes))
                return false;
        search.stretch.device = st.st_dev;
        search.stretch.inode = st.st_ino;
        is_found = sys_list(search.processes, look_at_process, &search) == IS_FOUND;
        sys_close(search.processes);
        return is_found;
}

bool byte_lock_find_holder(int fd, uint64_t offset, struct byte_lock_holder *holder)
{
        return find_holder(fd, offset, NULL, holder);
}

/* ---- Waiting ---- */

struct wait {
        int fd;
        uint64_t offset;
        _Atomic uint32_t is_over; /* futex */
};

static void tell(const struct wait *wait)
{
        struct byte_lock_holder holder;
        char path[PATH_MAX];

        const bool is_found = find_holder(wait->fd, wait->offset, &wait->is_over, &holder);

        if (atomic_load(&wait->is_over))
                return;
        sys_path_of(wait->fd, path, sizeof(path));
        if (is_found)
                say(stderr,
                    "libxac: %s: process %d (%s) has had the lock for a second or more; this one waits for it\n", path,
                    (int)holder.pid, holder.program);
        else
                say(stderr,
                    "libxac: %s: a process of another user or container has had the lock for a second or more; this "
                    "one "
                    "waits for it (as root, 'lslocks' shows who it is)\n",
                    path);
}

/* The thread that waits is in the kernel meanwhile. */
static void *watch(void *wait_)
{
        struct wait *wait = wait_;
        const uint64_t until_ns = sys_monotonic_ns() + PATIENCE_NS;

        for (uint64_t now_ns = sys_monotonic_ns(); !atomic_load(&wait->is_over); now_ns = sys_monotonic_ns()) {
                if (now_ns >= until_ns) {
                        tell(wait);
                        break;
                }
                sys_futex_wait((const uint32_t *)&wait->is_over, 0, until_ns - now_ns);
        }
        return NULL;
}

/* Signals are the program's. */
static bool start_watch(struct wait *wait, pthread_t *thread)
{
        sigset_t all, before;
        int err;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        err = pthread_create(thread, NULL, watch, wait);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return !err;
}

/* Whoever cancels a thread that waits must not leave the watch alone with what is on its stack. */
static int wait_for(int fd, uint64_t offset, int (*lock)(int fd, uint64_t offset, bool wait))
{
        struct wait wait = { .fd = fd, .offset = offset };
        pthread_t thread;
        int cancelling;
        int err = lock(fd, offset, false);

        if (err != -EAGAIN)
                return err;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
        const bool is_watched = start_watch(&wait, &thread);
        err = lock(fd, offset, true);
        if (is_watched) {
                atomic_store(&wait.is_over, 1);
                sys_futex_wake((const uint32_t *)&wait.is_over, 1);
                sys_join(thread);
        }
        pthread_setcancelstate(cancelling, NULL);
        return err;
}

int byte_lock_wait(int fd, uint64_t offset)
{
        return wait_for(fd, offset, sys_lock_byte);
}

int byte_lock_share(int fd, uint64_t offset)
{
        return wait_for(fd, offset, sys_share_byte);
}

int byte_lock_wait_in_turn(int fd, uint64_t offset)
{
        int err = sys_lock_byte(fd, offset, false);

        if (err != -EAGAIN)
                return err;
        err = byte_lock_wait(fd, BYTE_LOCK_TURN);
        if (err)
                return err;
        err = byte_lock_wait(fd, offset);
        sys_unlock_byte(fd, BYTE_LOCK_TURN);
        return err;
}

/* -EAGAIN: it was not free for so long. */
static int share_within(int fd, uint64_t offset, uint64_t limit_ns)
{
        enum { PAUSE_NS = 2000000 };
        const uint64_t until_ns = sys_monotonic_ns() + limit_ns;

        for (;;) {
                int err = sys_share_byte(fd, offset, false);

                if (err != -EAGAIN || sys_monotonic_ns() >= until_ns)
                        return err;
                sys_sleep_ns(PAUSE_NS);
        }
}

int byte_lock_share_in_turn(int fd, uint64_t offset)
{
        int err = share_within(fd, BYTE_LOCK_TURN, PATIENCE_NS);
        const bool has_turn = !err;

        if (err && err != -EAGAIN)
                return err;
        err = byte_lock_share(fd, offset);
        if (has_turn)
                sys_unlock_byte(fd, BYTE_LOCK_TURN);
        return err;
}
