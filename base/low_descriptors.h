/* SPDX-License-Identifier: MIT */
#ifndef BASE_LOW_DESCRIPTORS_H
#define BASE_LOW_DESCRIPTORS_H

/*
 * Descriptors 0, 1 and 2 are where programs read and print. If a program has closed one of them, the next file that
 * anybody opens gets its number, and what is printed goes into that file. So nothing that the library opens stays
 * there: while it opens something, /dev/null takes the numbers that are free; and where there is no /dev/null, what was
 * opened moves up.
 *
 * Between hold and release, and nowhere else. Async-signal-safe; no cancellation point.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOW_DESCRIPTORS = 3 };

struct low_descriptors {
        int count;
        int held[LOW_DESCRIPTORS];
};

static inline void low_descriptors_hold(struct low_descriptors *low)
{
        low->count = 0;
        for (int i = 0; i < LOW_DESCRIPTORS; i++) {
                if (syscall(SYS_fcntl, i, F_GETFD) >= 0)
                        continue;
                const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
                if (fd >= 0 && fd < LOW_DESCRIPTORS)
                        low->held[low->count++] = fd;
                else if (fd >= 0)
                        (void)syscall(SYS_close, fd); /* another thread has taken it */
        }
}

/* errno stays. */
static inline void low_descriptors_release(const struct low_descriptors *low)
{
        const int saved = errno;
        for (int i = 0; i < low->count; i++)
                (void)syscall(SYS_close, low->held[i]);
        errno = saved;
}

/* fd, or a copy of it that lies higher: then fd is closed. -1, with errno: none. */
static inline int low_descriptors_leave(int fd)
{
        if (fd < 0 || fd >= LOW_DESCRIPTORS)
                return fd;
        const int higher = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
        const int saved = errno;
        (void)syscall(SYS_close, fd);
        errno = saved;
        return higher;
}

#endif
