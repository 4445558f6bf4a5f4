/* SPDX-License-Identifier: MIT */
#include "bench/support/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bench/support/scratch.h"

/* "begin-end rights offset device inode path" */
static void take_line(const char *line, const struct stat *file, void (*visit)(void *arg, char *begin, size_t byte_len),
                      void *arg)
{
        uintptr_t begin, end;
        unsigned major, minor;
        uintmax_t inode;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %x:%x %" SCNuMAX, &begin, &end, &major, &minor, &inode) !=
            5)
                return;
        if (inode == (uintmax_t)file->st_ino && makedev(major, minor) == file->st_dev)
                visit(arg, (char *)begin, end - begin);
}

void mappings_of_file(const char *path, void (*visit)(void *arg, char *begin, size_t byte_len), void *arg)
{
        FILE *lines = fopen("/proc/self/maps", "re");
        char line[PATH_MAX + 128];
        struct stat file;

        must(lines && stat(path, &file) == 0 ? 0 : -errno, path);
        while (lines && fgets(line, sizeof(line), lines))
                take_line(line, &file, visit, arg);
        if (lines)
                fclose(lines);
}
