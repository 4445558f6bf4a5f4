/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_HEARD_H
#define TESTS_SUPPORT_HEARD_H

/* What this process says on standard error. */

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

/* It goes to a file from here on, and what was there is forgotten. */
static inline void hear(void)
{
        int fd = open(scratch_path("heard"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        check(fd >= 0);
        check(dup2(fd, STDERR_FILENO) >= 0);
        close(fd);
}

static inline bool was_heard(const char *text)
{
        char heard[1 << 16];
        int fd = open(scratch_path("heard"), O_RDONLY | O_CLOEXEC);
        ssize_t byte_len = fd < 0 ? 0 : read(fd, heard, sizeof(heard) - 1);

        check(byte_len >= 0);
        heard[byte_len] = '\0';
        close(fd);
        return strstr(heard, text) != NULL;
}

/* Another thread says it. */
static inline bool is_heard_soon(const char *text)
{
        for (struct leeway left = leeway_of(5000); !was_heard(text) && leeway_pause(&left);)
                ;
        return was_heard(text);
}

#endif
