/* SPDX-License-Identifier: MIT */
#include "tests/support/fd.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool fd_is_named(int fd, const char *prefix)
{
        char link[32], path[PATH_MAX];
        const char *name;
        ssize_t len;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        len = readlink(link, path, sizeof(path) - 1);
        if (len <= 0)
                return false;
        path[len] = '\0';
        name = strrchr(path, '/');
        return name != NULL && strncmp(name + 1, prefix, strlen(prefix)) == 0;
}
