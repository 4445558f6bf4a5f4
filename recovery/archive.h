/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ARCHIVE_H
#define RECOVERY_ARCHIVE_H

/*
 * The files of an archive (archive_format.h), one by one: written so that each is there as a whole or not at all, found
 * again, and read.
 */

#include "base/vector.h"
#include "recovery/archive_header.h"
#include "recovery/findings.h"

struct archive {
        int directory;
        uint32_t mode;  /* permission bits of files that are made */
        bool is_packed; /* by zstd, where it is there and makes the part shorter */
};

/* Puts a part there, durably: `bytes` is the log in [from, to). The packing is filled in. 0 also if it was there
 * before; -EEXIST: a file of that name is not this session's; -ENOSPC, -EIO, ... */
int archive_put(const struct archive *archive, struct archive_part *part, const struct archive_files *files,
                const void *bytes);

/* A directory that is to be an archive has a sign of it, before the first part comes. */
int archive_claim(const struct archive *archive);

/* The header of a file by its name. XAC_CORRUPT: damaged, or not what its name says; XAC_FORMAT; -errno. `files` may be
 * NULL. */
int archive_look(int directory, const char *name, struct archive_part *part, struct archive_files *files);
/* The log of a part, to - from bytes. XAC_CORRUPT: damaged; -EOPNOTSUPP: it is packed, and this build has no zstd. */
int archive_get(int directory, const struct archive_part *part, void *bytes);

/* The furthest part by its name, of those whose headers are damaged. */
struct archive_lost {
        uint64_t to; /* 0: there is none */
        uint32_t incarnation;
};

/* All parts, as struct archive_part in `parts`, by incarnation and position. Files that are damaged are reported in
 * sentences and left out. 0 or -errno. */
int archive_list(int directory, struct vector *parts, struct archive_lost *lost, struct findings *findings);

/* The newest part by its name, which is filled in: of the highest incarnation, and in that the furthest. -ENOENT: there
 * is none; XAC_CORRUPT, XAC_FORMAT: no part that can be read stands behind that name. */
int archive_newest(int directory, struct archive_part *part, char name[ARCHIVE_NAME_BYTES]);

#endif
