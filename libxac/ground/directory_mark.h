/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_DIRECTORY_MARK_H
#define LIBXAC_GROUND_DIRECTORY_MARK_H

/*
 * What tells a directory that was removed from one that was moved, or that only cannot be reached (R39). Its path and
 * its inode number tell nothing: both may be another's by now.
 *
 * The mark has the kernel's handle of the directory, with the generation of its inode, and the number of the mount that
 * it was made through. Later somebody asks the file system for that handle. The answer "stale" means removed only
 *
 *      D1  from a file system whose directories all have handles that lead to them: others forget handles
 *      D2  to root of the machine: for others whatever they may not reach is stale
 *      D3  from the same file system. Another one may have come to the same device, or a copy of it. Its type, and
 *          the number of the mount, tell; tmpfs needs no number, as what is not mounted there is gone
 *
 * What is known and not told apart: where the kernel cannot read the directory's inode from a disk that fails, it says
 * "stale", too (exportfs_decode_fh() makes that of each error but ENOMEM). Such a directory counts as removed. Only
 * what its shared memory has, and its files have not, is lost by that: of an environment that nobody has open since
 * it was killed, on a disk that does not give its directory back.
 *
 * A directory that is removed, and held open by somebody, still answers. It is not gone, as that one can go there.
 * Whenever one of these is not known the directory counts as there.
 */

#include <stdbool.h>
#include <stdint.h>

enum { DIRECTORY_MARK_BYTES = 128 };

struct directory_mark {
        uint64_t file_system; /* its type */
        uint64_t mount_id;    /* 0: not known */
        int32_t type;
        uint32_t byte_len; /* 0: there is no handle */
        uint8_t bytes[DIRECTORY_MARK_BYTES];
};

/* Empty, if the file system has no handles. */
void directory_mark_make(int directory, struct directory_mark *mark);
/* Is it certain that nobody can ever reach that directory of this device again? `where` is an open directory of any
 * file system, by which to ask; or -1, to look for one among the mounts. */
bool directory_mark_is_gone(const struct directory_mark *mark, uint64_t device, int where);
/* May we get such an answer at all? */
bool directory_mark_may_ask(void);

#endif
