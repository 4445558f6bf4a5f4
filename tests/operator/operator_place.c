/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_place.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/operator/operator_image.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"

#define BALLAST "ballast"

struct place here;

static const char *disk_path[PLACE_DISKS];
static const char *const disk_size[PLACE_DISKS] = { "size=64m", "size=8m", "size=64m" };

static const char *path_of(const char *directory, const char *name)
{
        char *path;

        check(asprintf(&path, "%s/%s", directory, name) > 0);
        return path;
}

static bool may_mount(void)
{
        return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static const char *make_disk(unsigned number, enum place_disk disk)
{
        char name[32];
        const char *path;

        snprintf(name, sizeof(name), "disk-%u-%d", number, (int)disk);
        path = strdup(scratch_path(name));
        check(path != NULL && mkdir(path, 0700) == 0);
        if (here.has_disks && mount("xac-operator", path, "tmpfs", MS_NOSUID | MS_NODEV, disk_size[disk]))
                here.has_disks = false;
        return path;
}

void place_make(unsigned number)
{
        here.has_disks = may_mount();
        for (int disk = 0; disk < PLACE_DISKS; disk++)
                disk_path[disk] = make_disk(number, (enum place_disk)disk);
        here.store = path_of(disk_path[PLACE_OF_STORE], "store");
        here.full = path_of(disk_path[PLACE_OF_STORE], "full");
        here.next = path_of(disk_path[PLACE_OF_STORE], "next");
        here.made = path_of(disk_path[PLACE_OF_STORE], "made");
        here.probe = path_of(disk_path[PLACE_OF_PROBES], "probe");
        here.before = path_of(disk_path[PLACE_OF_STORE], "before");
        here.archive = path_of(disk_path[PLACE_OF_ARCHIVE], "archive");
        here.away = path_of(disk_path[PLACE_OF_ARCHIVE], "away");
        place_reset();
}

void place_remove(void)
{
        for (int disk = PLACE_DISKS - 1; disk >= 0; disk--) {
                image_clear(disk_path[disk]);
                if (here.has_disks)
                        umount2(disk_path[disk], MNT_DETACH);
                rmdir(disk_path[disk]);
        }
}

static void reset_directory(const char *path)
{
        check(mkdir(path, 0700) == 0 || errno == EEXIST);
        image_clear(path);
}

static void remove_directory(const char *path)
{
        image_clear(path);
        check(rmdir(path) == 0 || errno == ENOENT);
}

void place_reset(void)
{
        if (here.has_disks)
                place_set_read_only(PLACE_OF_ARCHIVE, false);
        place_make_room(PLACE_OF_STORE);
        place_make_room(PLACE_OF_ARCHIVE);
        remove_directory(here.away);
        reset_directory(here.store);
        reset_directory(here.archive);
        remove_directory(here.full);
        remove_directory(here.next);
        remove_directory(here.made);
        remove_directory(here.probe);
        remove_directory(here.before);
}

bool place_fill(enum place_disk disk)
{
        const char *path = disk_path[disk];
        struct statvfs fs;

        if (!here.has_disks || statvfs(path, &fs))
                return false;
        const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const int fd = openat(directory, BALLAST, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        const bool is_full = fd >= 0 && posix_fallocate(fd, 0, (off_t)(fs.f_bavail * fs.f_frsize)) == 0;
        if (fd >= 0)
                close(fd);
        close(directory);
        return is_full;
}

void place_make_room(enum place_disk disk)
{
        const int directory = open(disk_path[disk], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        unlinkat(directory, BALLAST, 0);
        close(directory);
}

bool place_set_read_only(enum place_disk disk, bool is_read_only)
{
        return here.has_disks && mount(NULL, disk_path[disk], NULL,
                                       MS_REMOUNT | MS_NOSUID | MS_NODEV | (is_read_only ? MS_RDONLY : 0), NULL) == 0;
}
