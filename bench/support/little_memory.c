/* SPDX-License-Identifier: MIT */
#include "bench/support/little_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_text(const struct little_memory *memory, const char *file, const char *text)
{
        char path[PATH_MAX + 64];
        int fd, err = 0;

        snprintf(path, sizeof(path), "%s/%s", memory->path, file);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (write(fd, text, strlen(text)) < 0)
                err = -errno;
        close(fd);
        return err;
}

/* Takes a line of /proc/self/cgroup: of the older hierarchy of memory, or of the unified one. */
static void take_line(char *line, char parent[PATH_MAX], bool *is_old)
{
        const char *at = strstr(line, ":memory:");

        line[strcspn(line, "\n")] = '\0';
        if (at) {
                snprintf(parent, PATH_MAX, "/sys/fs/cgroup/memory%s", at + strlen(":memory:"));
                *is_old = true;
        } else if (strncmp(line, "0::", 3) == 0 && !*is_old) {
                snprintf(parent, PATH_MAX, "/sys/fs/cgroup%s", line + 3);
        }
}

/* The group where this process's memory is counted. */
static bool find_parent(char parent[PATH_MAX])
{
        FILE *lines = fopen("/proc/self/cgroup", "re");
        char line[PATH_MAX / 2];
        bool is_old = false;

        parent[0] = '\0';
        while (lines && fgets(line, sizeof(line), lines))
                take_line(line, parent, &is_old);
        if (lines)
                fclose(lines);
        return parent[0] != '\0';
}

bool little_memory_make(struct little_memory *memory, uint64_t bytes)
{
        static unsigned made; /* by this process */
        char parent[PATH_MAX], limit[32];

        if (!find_parent(parent))
                return false;
        if (snprintf(memory->path, sizeof(memory->path), "%s/xac-%d-%u", parent, (int)getpid(), made++) >= PATH_MAX ||
            mkdir(memory->path, 0700) != 0)
                return false;
        snprintf(limit, sizeof(limit), "%" PRIu64, bytes);
        if (!write_text(memory, "memory.max", limit) || !write_text(memory, "memory.limit_in_bytes", limit))
                return true;
        little_memory_remove(memory);
        return false;
}

int little_memory_enter(const struct little_memory *memory)
{
        return write_text(memory, "cgroup.procs", "0");
}

void little_memory_remove(const struct little_memory *memory)
{
        rmdir(memory->path);
}
