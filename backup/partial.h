/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_PARTIAL_H
#define BACKUP_PARTIAL_H

/*
 * A directory that is there as a whole or not at all: it is filled under another name, `.NAME.partial`, beside the one
 * that it is to have, and renamed when everything in it is on disk. It may take the place of one that is empty, and
 * gets the owner and the permissions of that.
 *
 * Whoever fills it holds the lock of an environment that is opened, byte 0 of its lock file. So two who make
 * the same do not meet. A mark in the lock file says that the directory is filled; if its process has died, the next
 * one empties the directory and fills it again. An environment has no such mark, so no process empties it.
 */

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "backup/trouble.h"

enum { PARTIAL_NAME_BYTES = 256 };

struct partial {
        int parent;
        int directory;
        int lock_fd;
        bool is_named;      /* it has its own name already */
        bool replaces;      /* an empty directory, */
        struct stat before; /* and what that is */
        char name[PARTIAL_NAME_BYTES];
        char partial_name[PARTIAL_NAME_BYTES];
};

/* Whose the files are to be. */
struct partial_owner {
        bool is_given; /* false: the empty directory's that was there, or else the process's */
        uid_t user;
        gid_t group;
};

/* -EEXIST: something is there, and no empty directory; -EBUSY: another process is making it, or it is a mount point;
 * -EPERM: the empty directory is another user's; -EINVAL, -ENAMETOOLONG, -ENOENT. */
int partial_make(struct partial *partial, const char *path, struct trouble *trouble);
/* Will it be possible to give the files to them? Asked before anything is copied; `owner` may be NULL. -EPERM, or what
 * else stands in the way. */
int partial_ask_owner(const struct partial *partial, const struct partial_owner *owner, struct trouble *trouble);
/* Gives it its name. Its files are on disk; `mode` is theirs. `owner` may be NULL. Closed on success. */
int partial_finish(struct partial *partial, mode_t mode, const struct partial_owner *owner, struct trouble *trouble);
/* Removes all of it, what makes it an environment first. */
void partial_abandon(struct partial *partial);

#endif
