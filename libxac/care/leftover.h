/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_LEFTOVER_H
#define LIBXAC_CARE_LEFTOVER_H

/*
 * The shared memory that there is on this machine, for `xac stat` and `xac clean`: whose it is, whether anybody uses
 * it, and whether it would be missed.
 *
 * In use is what somebody holds a lock on (R22): processes share byte 0 of the control part while they are attached,
 * and the kernel says so across containers and of directories that are gone. Whoever removes something takes that byte
 * alone, looks again under it, and removes the control part last. An open that comes meanwhile waits, finds that what
 * it waited for is gone, and makes its own.
 *
 * Names and contents in /dev/shm may be anybody's. Links are not followed, and nothing is believed beyond what decides
 * about that name itself; the path of the directory is only a hint, and counts when the directory is there.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/control.h"

enum leftover_kind {
        LEFTOVER_NEEDED,   /* the next open of its directory goes on with it */
        LEFTOVER_HOMELESS, /* its directory is not where it was: removed, or moved */
        LEFTOVER_GONE,     /* its directory was removed, for certain: nobody can ever use it (R39) */
        LEFTOVER_REPLACED, /* no open would believe it: its directory is another environment's, or goes on without it */
        LEFTOVER_PAST_BOOT,  /* of another boot of the machine */
        LEFTOVER_UNFINISHED, /* whoever made it died before it was ready */
        LEFTOVER_PARTS,      /* without a control part */
        LEFTOVER_STRANGERS,  /* a user whom the environment does not trust has made it, or a part of it */
        LEFTOVER_OTHERS,     /* not of this version of libxac, or nothing of libxac at all */
        LEFTOVER_UNKNOWN     /* it cannot be found out: err says why */
};

enum { LEFTOVER_PIDS = 8 };

struct leftover {
        uint64_t device; /* of the directory, as the name says */
        uint64_t inode;
        enum leftover_kind kind;
        int err;
        bool is_in_use;
        bool is_on_disk; /* no commit would be lost with it */
        uint64_t byte_len;
        uint32_t process_count; /* that have used it and not said good-bye */
        uint32_t pid[LEFTOVER_PIDS];
        char path[CONTROL_PATH_BYTES]; /* of the directory, as it was called; may be anything, or empty */
        int where;                     /* 1 + an open directory of its file system; 0: there is none at hand */
};

/* Calls visit for each of them, by device and inode; ends when one returns non-zero, and returns that. Time and memory
 * grow with the number of names (16 bytes each), which everybody may choose. */
int leftovers_visit(int (*visit)(void *arg, const struct leftover *leftover), void *arg);
/* Bytes of shared memory that there are in all, and that are free. */
int leftovers_room(uint64_t *all, uint64_t *unused);
/* That of an existing directory, whose owner and permissions say who is a stranger. -ENOENT: there is none. */
int leftover_of_directory(const char *path, struct leftover *leftover);
/* That of a name without the part: xac.DEVICE.INODE. -EINVAL: it is no such name; -ENOENT: there is none. */
int leftover_of_name(const char *name, struct leftover *leftover);

/* May it be removed? With may_lose also if commits are lost with it that are nowhere else, as by a power cut. */
bool leftover_is_removable(const struct leftover *leftover, bool may_lose);
/* Looks again, and removes it if it still may be removed. -EBUSY: somebody uses it by now; -EAGAIN: it has changed;
 * -EACCES, -EPERM, -ENOTEMPTY. */
int leftover_remove(const struct leftover *leftover, bool may_lose);
/* Removes what is gone, for certain, of the file system that `directory` lies in, as far as we may know: for those who
 * are about to make shared memory. It looks at a bounded number of names, once a minute in a process, and never waits.
 */
void leftovers_remove_gone(int directory, uint64_t device);

/* The same, now: it goes on where the last one of this process ended. */
void leftovers_sweep(int directory, uint64_t device);

#endif
