/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ARCHIVE_MARKER_H
#define RECOVERY_ARCHIVE_MARKER_H

/*
 * The marker of an archive, a file by which an environment knows it again: where a disk is not mounted there is another
 * directory of the same name, and without a marker nobody could tell that from a new archive. Numbers are
 * little-endian.
 *
 *      offset  bytes   field
 *           0      8   magic "XACARCID"
 *           8      4   version of this format
 *          12      4   CRC-32C of all other bytes of the file
 *          16     16   id, drawn when the archive was first used
 *          32     16   uuid of the environment
 *          48     16   zero
 *
 * It is made before the manifest remembers its id. So an environment that remembers none takes one of its own uuid.
 */

#include <stdint.h>

#include "recovery/archive.h"

#define ARCHIVE_MARKER_NAME "xac.archive.id"

enum { ARCHIVE_ID_BYTES = 16 };

struct archive_marker {
        uint8_t id[ARCHIVE_ID_BYTES];
        uint8_t uuid[ARCHIVE_ID_BYTES];
};

/* -ENOENT: there is none; XAC_CORRUPT, XAC_FORMAT; -errno. */
int archive_marker_read(int directory, struct archive_marker *marker);
/* Durably; *marker has the uuid, and gets its id. -EEXIST: somebody else was quicker. */
int archive_marker_make(const struct archive *archive, struct archive_marker *marker);
/* Zeros: nobody knows any. */
bool archive_id_is_known(const uint8_t id[ARCHIVE_ID_BYTES]);
/* Is there anything of an archive in the directory? 1, 0, or -errno. */
int archive_marker_has_signs(int directory);

#endif
