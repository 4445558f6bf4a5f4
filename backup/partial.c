/* SPDX-License-Identifier: MIT */
#include "backup/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <xac/xac.h>

#include "base/byte_lock.h"
#include "base/sys.h"
#include "recovery/manifest.h"

#define LOCK_NAME "xac.lock" /* as every environment's */

enum { TRIES = 100 };

/* ---- Its names ---- */

/* Opens the directory in which `path` is to be, and finds its last part. */
static int open_parent(struct partial *partial, const char *path)
{
        char above[4096];
        size_t end = strlen(path), begin;

        while (end > 1 && path[end - 1] == '/')
                end--;
        begin = end;
        while (begin && path[begin - 1] != '/')
                begin--;
        if (begin == end || (path[begin] == '.' && (end - begin == 1 || (end - begin == 2 && path[begin + 1] == '.'))))
                return -EINVAL;
        if (end - begin + strlen("..partial") >= PARTIAL_NAME_BYTES || begin >= sizeof(above))
                return -ENAMETOOLONG;
        snprintf(partial->name, sizeof(partial->name), "%.*s", (int)(end - begin), path + begin);
        snprintf(partial->partial_name, sizeof(partial->partial_name), ".%.*s.partial", (int)(end - begin),
                 path + begin);
        snprintf(above, sizeof(above), "%.*s", (int)begin, begin ? path : "");
        return sys_open(AT_FDCWD, begin ? above : ".", O_RDONLY | O_DIRECTORY, 0, &partial->parent);
}

static int expect_no_such(const struct partial *partial)
{
        struct stat st;
        int err = sys_stat_at(partial->parent, partial->name, &st);

        return err == -ENOENT ? 0 : err ? err : -EEXIST;
}

/* ---- Emptying ---- */

static int find_any(void *unused, const char *name)
{
        (void)unused, (void)name;
        return 1;
}

static int remove_name(void *arg, const char *name)
{
        const struct partial *partial = arg;
        int err = strcmp(name, LOCK_NAME) == 0 ? 0 : sys_unlink(partial->directory, name);

        return err == -ENOENT ? 0 : err;
}

/* All but the lock file. The manifest is gone from the disk, too, before anything else is: it must not come back to
 * files that are no more, or to new ones. */
static int empty(struct partial *partial)
{
        int err = sys_unlink(partial->directory, MANIFEST_NAME);

        if (!err)
                err = sys_sync(partial->directory);
        return err && err != -ENOENT ? err : sys_list(partial->directory, remove_name, partial);
}

/* ---- Making ---- */

/* 1: whoever had it has renamed it, or removed it. */
static int has_gone(const struct partial *partial)
{
        struct stat named, own;
        int err = sys_stat(partial->directory, &own);

        if (!err)
                err = sys_stat_at(partial->parent, partial->partial_name, &named);
        if (err)
                return err == -ENOENT ? 1 : err;
        return named.st_ino != own.st_ino || named.st_dev != own.st_dev;
}

/* A directory that was here before is one of ours if it has a lock file, or nothing, and belongs to us: its owner could
 * exchange what is in it. */
static int open_lock(struct partial *partial, bool is_new)
{
        struct stat st;
        int err = sys_stat(partial->directory, &st);

        if (!err && st.st_uid != geteuid())
                err = -EEXIST;
        if (!err)
                err = sys_open(partial->directory, LOCK_NAME, O_RDWR, 0, &partial->lock_fd);
        if (err != -ENOENT)
                return err;
        err = is_new ? 0 : sys_list(partial->directory, find_any, NULL);
        if (err)
                return err < 0 ? err : -EEXIST;
        return sys_open(partial->directory, LOCK_NAME, O_RDWR | O_CREAT, 0600, &partial->lock_fd);
}

/* 1: try again. */
static int make_once(struct partial *partial)
{
        int made = sys_mkdir(partial->parent, partial->partial_name, 0700);
        int err = made == -EEXIST ? 0 : made;

        if (!err)
                err = sys_open(partial->parent, partial->partial_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                               &partial->directory);
        if (err)
                return err == -ENOENT ? 1 : err;
        err = open_lock(partial, !made);
        if (err)
                goto fail_lock;
        err = sys_lock_byte(partial->lock_fd, 0, false);
        if (!err)
                err = has_gone(partial);
        if (!err)
                err = empty(partial);
        if (!err)
                return 0;

        sys_close(partial->lock_fd);
fail_lock:
        sys_close(partial->directory);
        return err;
}

int partial_make(struct partial *partial, const char *path, struct trouble *trouble)
{
        int err;

        memset(partial, 0, sizeof(*partial));
        err = open_parent(partial, path);
        if (err)
                return trouble_with(trouble, err, path);
        err = expect_no_such(partial);
        if (err == -EEXIST)
                trouble_say(trouble, err, "%s is there already; take another name, or remove it", path);
        if (err)
                goto fail;
        err = 1;
        for (int i = 0; err == 1 && i < TRIES; i++)
                err = make_once(partial);
        if (err == -EAGAIN || err == 1)
                err = -EBUSY;
        if (!err)
                return 0;
        if (err == -EBUSY)
                trouble_say(trouble, err, "another process is making %s", path);
        else if (err == -EEXIST)
                trouble_say(trouble, err, "%s, beside it, is in the way; remove it", partial->partial_name);

fail:
        sys_close(partial->parent);
        return trouble_with(trouble, err, path);
}

/* ---- The end ---- */

static void close_all(struct partial *partial)
{
        sys_close(partial->lock_fd);
        sys_close(partial->directory);
        sys_close(partial->parent);
}

/* Whoever may read may also search. */
static int set_modes(const struct partial *partial, mode_t mode)
{
        int err = sys_chmod(partial->lock_fd, byte_lock_mode(mode));

        return err ? err : sys_chmod(partial->directory, mode | 0700 | (mode & 0444) >> 2);
}

int partial_finish(struct partial *partial, mode_t mode, struct trouble *trouble)
{
        int err = set_modes(partial, mode);

        if (!err)
                err = sys_sync(partial->lock_fd);
        if (!err)
                err = sys_sync(partial->directory);
        if (!err)
                err = sys_rename_new(partial->parent, partial->partial_name, partial->name);
        if (!err) {
                partial->is_named = true;
                err = sys_sync(partial->parent);
        }
        if (err)
                return trouble_with(trouble, err, partial->name);
        close_all(partial);
        return 0;
}

/* What cannot be removed is made anew by the next one, and is no environment. By the lock file it is known. */
void partial_abandon(struct partial *partial)
{
        if (partial->is_named && !sys_rename_new(partial->parent, partial->name, partial->partial_name))
                partial->is_named = false;
        if (!empty(partial))
                (void)sys_unlink(partial->directory, LOCK_NAME);
        (void)sys_rmdir(partial->parent, partial->is_named ? partial->name : partial->partial_name);
        close_all(partial);
}
