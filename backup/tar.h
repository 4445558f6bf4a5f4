/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_TAR_H
#define BACKUP_TAR_H

/*
 * An archive in the format of tar (POSIX.1-2001 ustar and pax), written to a pipe as it comes. Any tar reads it.
 */

#include <stdint.h>
#include <sys/types.h>

struct tar {
        int fd;
        uint64_t time; /* of all files */
        uid_t owner;
        gid_t group;
        uint64_t at;  /* bytes of the file that are written, */
        uint64_t end; /* and that it has */
};

/* A file begins: a name without directories, of up to 255 bytes. */
int tar_begin_file(struct tar *tar, const char *name, uint64_t byte_len, mode_t mode);
/* What lies between the last bytes and these is zeros. */
int tar_write(struct tar *tar, const void *bytes, uint64_t byte_len, uint64_t offset);
int tar_end_file(struct tar *tar);
/* Nothing comes any more. */
int tar_finish(struct tar *tar);

#endif
