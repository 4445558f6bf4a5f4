/* SPDX-License-Identifier: MIT */
#include "tests/support/own_shm.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"

static int write_text(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        ssize_t written = fd < 0 ? -1 : write(fd, text, strlen(text));

        close(fd);
        return written == (ssize_t)strlen(text) ? 0 : -1;
}

/* As root of a namespace of users, where we are not root. */
static int become_root(void)
{
        const unsigned uid = geteuid(), gid = getegid();
        char map[64];

        if (unshare(CLONE_NEWUSER))
                return -1;
        snprintf(map, sizeof(map), "0 %u 1", uid);
        if (write_text("/proc/self/uid_map", map) || write_text("/proc/self/setgroups", "deny"))
                return -1;
        snprintf(map, sizeof(map), "0 %u 1", gid);
        return write_text("/proc/self/gid_map", map);
}

static int leave_mounts(void)
{
        if (unshare(CLONE_NEWNS) == 0)
                return 0;
        return become_root() || unshare(CLONE_NEWNS) ? -1 : 0;
}

void own_shm(const char *size)
{
        char options[64];

        snprintf(options, sizeof(options), "mode=1777,size=%s", size);
        if (leave_mounts() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("xac-test", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options))
                isolate_skip("a /dev/shm of one's own is not allowed here");
}

unsigned own_shm_files(void)
{
        DIR *all = opendir("/dev/shm");
        unsigned count = 0;

        check(all != NULL);
        for (struct dirent *entry; (entry = readdir(all)) != NULL;)
                count += entry->d_name[0] != '.';
        closedir(all);
        return count;
}
