/* SPDX-License-Identifier: MIT */
#include "tests/support/closed.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/check.h"

enum { LOW = 3, SAVED = 100 };

static int now_closed;

void closed_begin(void)
{
        if (fcntl(SAVED, F_GETFD) < 0) /* else a parent has done so */
                check_equal(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, SAVED), SAVED);
}

void closed_close(int closed)
{
        for (int fd = 0; fd < LOW; fd++)
                if (closed & 1 << fd)
                        close(fd);
        now_closed = closed;
}

void closed_check(const char *call)
{
        for (int fd = 0; fd < LOW; fd++) {
                char name[64] = "", link[32];

                if (!(now_closed & 1 << fd) || fcntl(fd, F_GETFD) < 0)
                        continue;
                snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                (void)!readlink(link, name, sizeof(name) - 1);
                closed_end();
                check_failed(__FILE__, __LINE__, "descriptor %d is %s after %s", fd, name, call);
        }
}

void closed_end(void)
{
        dup2(SAVED, STDERR_FILENO);
}
