/* SPDX-License-Identifier: MIT */
#include "libxac/ground/directory_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/sys.h"

void directory_mark_make(int directory, struct directory_mark *mark)
{
        memset(mark, 0, sizeof(*mark));
        mark->byte_len = sizeof(mark->bytes);
        if (sys_handle_of(directory, &mark->type, mark->bytes, &mark->byte_len) ||
            sys_mount_of(directory, &mark->file_system, &mark->mount_id))
                memset(mark, 0, sizeof(*mark));
}

bool directory_mark_may_ask(void)
{
        return geteuid() == 0 && sys_is_in_first_user_namespace(); /* D2; without the right the kernel says -EPERM */
}

/* D1 */
static bool has_lasting_handles(uint64_t type)
{
        return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC ||
               type == F2FS_SUPER_MAGIC || type == TMPFS_MAGIC;
}

/* D3. Two file systems that are mounted never have the same device. */
static bool is_the_same_file_system(const struct directory_mark *mark, uint64_t device, int where)
{
        struct stat st;
        uint64_t type, mount_id;

        if (sys_stat(where, &st) || st.st_dev != device || sys_mount_of(where, &type, &mount_id))
                return false;
        return has_lasting_handles(type) && type == mark->file_system &&
               (type == TMPFS_MAGIC || (mount_id != 0 && mount_id == mark->mount_id));
}

static bool is_stale(const struct directory_mark *mark, int where)
{
        int fd;
        const int err = sys_open_handle(where, mark->type, mark->bytes, mark->byte_len, &fd);

        if (!err)
                sys_close(fd);
        return err == -ESTALE;
}

/* ---- The mounts ---- */

enum { PIECE_BYTES = 4096, LIST_BYTES_MAX = 16 << 20 };

/* All of /proc/self/mountinfo, to be freed; NULL if it cannot be had. */
static char *read_mounts(void)
{
        char *text = NULL;
        size_t length = 0;
        int fd;
        int err = sys_open(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0, &fd);

        if (err)
                return NULL;
        for (; !err && length < LIST_BYTES_MAX; length += PIECE_BYTES) {
                char *more = realloc(text, length + PIECE_BYTES + 1);

                if (!more)
                        break;
                text = more;
                memset(text + length, 0, PIECE_BYTES + 1);
                err = sys_read_all(fd, text + length, PIECE_BYTES, length);
        }
        sys_close(fd);
        if (err == -ENODATA)
                return text;
        free(text);
        return NULL;
}

/* Blanks and the like stand there as \040: three octal digits. */
static void unescape(char *path)
{
        char *to = path;

        for (const char *from = path; *from; to++) {
                unsigned code;

                if (sscanf(from, "\\%3o", &code) == 1) {
                        *to = (char)code;
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
}

/* A line as "36 35 98:0 /mnt1 /mnt2 rw,noatime ...": the device, a directory in it, and where that is mounted. */
static bool is_gone_by_line(const char *line, const struct directory_mark *mark, uint64_t device)
{
        unsigned major_no, minor_no;
        char path[PATH_MAX];
        int where;

        if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &major_no, &minor_no, path) != 3 ||
            makedev(major_no, minor_no) != device)
                return false;
        unescape(path);
        if (sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &where))
                return false; /* a file that is mounted, or hidden by another mount */
        const bool is_gone = is_the_same_file_system(mark, device, where) && is_stale(mark, where);
        sys_close(where);
        return is_gone;
}

static bool is_gone_by_mounts(const struct directory_mark *mark, uint64_t device)
{
        char *text = read_mounts();
        char *rest;
        bool is_gone = false;

        for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && !is_gone;
             line = strtok_r(NULL, "\n", &rest))
                is_gone = is_gone_by_line(line, mark, device);
        free(text);
        return is_gone;
}

bool directory_mark_is_gone(const struct directory_mark *mark, uint64_t device, int where)
{
        if (!mark->byte_len || mark->byte_len > sizeof(mark->bytes) || !directory_mark_may_ask())
                return false;
        if (where < 0)
                return is_gone_by_mounts(mark, device);
        return is_the_same_file_system(mark, device, where) && is_stale(mark, where);
}
