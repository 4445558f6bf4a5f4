/* SPDX-License-Identifier: MIT */
#include "backup/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <xac/xac.h>

#include "base/byte_lock.h"
#include "base/sys.h"
#include "recovery/manifest.h"

#define LOCK_NAME "xac.lock" /* as every environment's */

enum { TRIES = 100, ALL_MODES = 07777 };

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

static int find_any(void *unused, const char *name)
{
        (void)unused, (void)name;
        return 1;
}

/* 1: the directory is empty; 0: it is not; -ENOTSUP: it has an access control list, which would be lost. */
static int is_empty(const struct partial *partial)
{
        int directory;
        int err = sys_open(partial->parent, partial->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &directory);

        if (err)
                return err;
        err = sys_has_access_list(directory) ? -ENOTSUP : sys_list(directory, find_any, NULL);
        sys_close(directory);
        return err < 0 ? err : !err;
}

/* May others than root and its owner have put it there? To him they would give all that is in it. */
static bool is_of_a_stranger(const struct stat *above, const struct stat *before)
{
        const uid_t own = geteuid();
        const bool is_sound = above->st_uid == own || above->st_uid == before->st_uid;

        return before->st_uid != own && (own != 0 || !is_sound || above->st_mode & (S_IWGRP | S_IWOTH));
}

/* What is there already. Only root may give files to the owner of a directory. */
static int look_at_place(struct partial *partial, const char *path, struct trouble *trouble)
{
        struct stat above;
        int err = sys_stat_at(partial->parent, partial->name, &partial->before);

        if (err)
                return err == -ENOENT ? 0 : err;
        if (!S_ISDIR(partial->before.st_mode))
                return trouble_say(trouble, -EEXIST, "%s is there already; take another name, or remove it", path);
        err = sys_stat(partial->parent, &above);
        if (!err && above.st_dev != partial->before.st_dev)
                return trouble_say(trouble, -EBUSY, "%s is a mount point: name a directory in it that is not there yet",
                                   path);
        if (!err)
                err = is_empty(partial);
        if (err == -ENOTSUP)
                return trouble_say(trouble, err, "%s has an access control list: take another name", path);
        if (!err)
                return trouble_say(trouble, -EEXIST,
                                   "%s is there already, and not empty; take another name, or remove it", path);
        if (err == 1 && is_of_a_stranger(&above, &partial->before))
                return trouble_say(
                        trouble, -EPERM,
                        "%s belongs to another user, who would get all that is in it: take another name%s", path,
                        geteuid() ? ", or have root do it" : "; others may write to the directory it lies in");
        partial->replaces = err == 1;
        return err < 0 ? err : 0;
}

/* ---- Emptying ---- */

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

/* In the lock file, until the directory has its name. Nobody else writes there. */
static const char mark[] = "partial";

/* What older versions have left has no mark; but whoever has opened an environment has its manifest. */
static int look_for_mark(const struct partial *partial)
{
        char there[sizeof(mark)];
        struct stat st;
        int err = sys_read_all(partial->lock_fd, there, sizeof(there), 0);

        if (!err && memcmp(there, mark, sizeof(mark)) == 0)
                return 0;
        if (err && err != -ENODATA)
                return err;
        err = sys_stat_at(partial->directory, MANIFEST_NAME, &st);
        return err == -ENOENT ? 0 : err ? err : -EEXIST;
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
                err = look_for_mark(partial);
        if (!err)
                err = sys_write_all(partial->lock_fd, mark, sizeof(mark), 0);
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
        err = look_at_place(partial, path, trouble);
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
static int set_mode(const struct partial *partial, mode_t mode)
{
        const mode_t before = partial->before.st_mode & ALL_MODES;

        return sys_chmod(partial->directory, partial->replaces ? before : mode | 0700 | (mode & 0444) >> 2);
}

struct handover {
        const struct partial *partial;
        const struct partial_owner *owner;
};

static int give_file(void *arg, const char *name)
{
        const struct handover *handover = arg;
        int fd;
        int err = sys_open(handover->partial->directory, name, O_RDONLY | O_NOFOLLOW, 0, &fd);

        if (err)
                return err;
        err = sys_chown(fd, handover->owner->user, handover->owner->group);
        if (!err)
                err = sys_sync(fd);
        sys_close(fd);
        return err;
}

static struct partial_owner owner_before(const struct partial *partial)
{
        return (struct partial_owner){ true, partial->before.st_uid, partial->before.st_gid };
}

/* Who has it in the end; is_given: somebody else, perhaps. */
static struct partial_owner owner_in_the_end(const struct partial *partial, const struct partial_owner *owner)
{
        const struct partial_owner nobody = { false, 0, 0 };

        if (owner && owner->is_given)
                return *owner;
        return partial->replaces ? owner_before(partial) : nobody;
}

static int say_not_given(const struct partial *partial, const struct partial_owner *owner, int err,
                         struct trouble *trouble)
{
        return trouble_say(trouble, err, "%s could not be given to user %u and group %u: %s", partial->name,
                           (unsigned)owner->user, (unsigned)owner->group,
                           err == -EPERM && geteuid() != 0
                                   ? "only root may do that"
                                   : "the file system, or the namespace of users, does not let root do it");
}

/* By the lock file, which is empty but for the mark, and which nobody reaches yet. */
int partial_ask_owner(const struct partial *partial, const struct partial_owner *owner, struct trouble *trouble)
{
        const struct partial_owner last = owner_in_the_end(partial, owner);
        struct stat own;
        int err;

        if (!last.is_given)
                return 0;
        err = sys_stat(partial->lock_fd, &own);
        if (err || (own.st_uid == last.user && own.st_gid == last.group))
                return err;
        err = sys_chown(partial->lock_fd, last.user, last.group);
        if (err)
                return say_not_given(partial, &last, err, trouble);
        /* Who is not of the group that the parent gives to new files may not give it back: the file goes away later. */
        (void)sys_chown(partial->lock_fd, own.st_uid, own.st_gid);
        return 0;
}

/* The files. Nobody else gets at them before the directory is given, too. */
static int give_files(const struct partial *partial, const struct partial_owner *owner, struct trouble *trouble)
{
        const struct handover handover = { partial, owner };
        struct stat own;
        int err = sys_stat(partial->directory, &own);

        if (err || (own.st_uid == owner->user && own.st_gid == owner->group))
                return err;
        err = sys_list(partial->directory, give_file, (void *)(uintptr_t)&handover);
        return err == -EPERM ? say_not_given(partial, owner, err, trouble) : err;
}

/* rename(2) replaces no directory but an empty one. */
static int take_name(struct partial *partial, struct trouble *trouble)
{
        int (*const rename_to)(int, const char *, const char *) = partial->replaces ? sys_rename : sys_rename_new;
        int err = rename_to(partial->parent, partial->partial_name, partial->name);

        if (err == -ENOTEMPTY || err == -EEXIST)
                trouble_say(trouble, err, "%s is there by now, and not empty; take another name, or remove it",
                            partial->name);
        else if (err == -EBUSY)
                trouble_say(trouble, err, "%s is a mount point: name a directory in it that is not there yet",
                            partial->name);
        partial->is_named = !err;
        return err;
}

/* After it has its name: a directory of somebody else's under the other name would be in the way of the next one. */
static int give_directory(const struct partial *partial, const struct partial_owner *owner, mode_t mode)
{
        int err = owner->is_given ? sys_chown(partial->directory, owner->user, owner->group) : 0;

        if (!err)
                err = set_mode(partial, mode);
        return err ? err : sys_sync(partial->directory);
}

int partial_finish(struct partial *partial, mode_t mode, const struct partial_owner *owner, struct trouble *trouble)
{
        const struct partial_owner last = owner_in_the_end(partial, owner);
        int err = last.is_given ? give_files(partial, &last, trouble) : 0;

        if (!err)
                err = sys_chmod(partial->lock_fd, byte_lock_mode(mode));
        if (!err)
                err = sys_sync(partial->lock_fd);
        if (!err)
                err = sys_sync(partial->directory);
        if (!err)
                err = take_name(partial, trouble);
        if (!err)
                err = sys_truncate(partial->lock_fd, 0); /* the mark */
        if (!err)
                err = sys_sync(partial->lock_fd);
        if (!err)
                err = give_directory(partial, &last, mode);
        if (!err)
                err = sys_sync(partial->parent);
        if (err)
                return trouble_with(trouble, err, partial->name);
        close_all(partial);
        return 0;
}

/* Who may write beside it may have put another one there meanwhile. */
static bool is_as_made(int directory)
{
        struct stat st;

        return !sys_stat(directory, &st) && st.st_uid == geteuid() && (st.st_mode & ALL_MODES) == 0700 &&
               !sys_list(directory, find_any, NULL);
}

/* The empty directory whose place it had taken. */
static void put_back(const struct partial *partial)
{
        int directory;

        if (sys_mkdir(partial->parent, partial->name, 0700))
                return;
        if (sys_open(partial->parent, partial->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &directory))
                return;
        if (is_as_made(directory)) {
                (void)sys_chown(directory, partial->before.st_uid, partial->before.st_gid);
                (void)sys_chmod(directory, partial->before.st_mode & ALL_MODES);
        }
        sys_close(directory);
}

/* What cannot be removed is made anew by the next one, and is no environment. By the lock file it is known. */
void partial_abandon(struct partial *partial)
{
        if (partial->is_named && !sys_rename_new(partial->parent, partial->name, partial->partial_name)) {
                partial->is_named = false;
                if (partial->replaces)
                        put_back(partial);
        }
        if (!empty(partial))
                (void)sys_unlink(partial->directory, LOCK_NAME);
        (void)sys_rmdir(partial->parent, partial->is_named ? partial->name : partial->partial_name);
        close_all(partial);
}
