/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_BACKUP_INDEX_H
#define BACKUP_BACKUP_INDEX_H

/*
 * `xac.backup`, the file that says what a backup is: of which environment, as of which commit, which pages are in it,
 * and the checksum of each page (page_checksum.h) that is not all zeros, whether it is in this backup or in an earlier
 * one. Numbers are little-endian.
 *
 *      offset  bytes   field
 *           0      8   magic "XACBACKU"
 *           8      4   version of this format
 *          12      4   CRC-32C of all other bytes of the file
 *          16     16   id, drawn for each backup
 *          32     16   id of the backup that this one continues; zeros: none, it is a full one
 *          48     16   uuid of the environment
 *          64      8   sequence: the commit
 *          72      8   sequence of the backup that this one continues
 *          80      8   bytes of this file
 *          88      8   time: seconds since 1970
 *          96      8   pages that are in this backup
 *         104     24   zero
 *         128  32768   a slot of the manifest (recovery/manifest_slot.h): page size, files, their places and modes; its
 *                      checkpoint is that of an empty log at that commit
 *       32896          for each file, by number:
 *                         8  its length
 *                         4  its permission bits
 *                         4  count of runs, by first page; pages in no run are zeros
 *                            for each run:  8  its first page
 *                                           4  count of pages
 *                                           4  1: they are in this backup
 *                                           8  for each page, its checksum
 *
 * A full backup has its pages in the data files, each at its place. One that continues another has them one after
 * the other, as they stand in this file, in pieces of BACKUP_PIECE_BYTES: xac.pages.1, ...
 *
 * Any bytes may be decoded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup/trouble.h"
#include "recovery/manifest.h"

#define BACKUP_INDEX_NAME "xac.backup"

enum { BACKUP_ID_BYTES = 16, BACKUP_PIECE_BYTES = 16 << 20, BACKUP_PIECE_NAME_BYTES = 32 };

struct backup_run {
        uint64_t first;
        uint32_t count;
        uint32_t is_here;
        uint64_t checksum_at; /* of its first page, among the file's checksums */
        uint64_t here_at;     /* of its first page, among the backup's own pages */
};

struct backup_file {
        uint64_t byte_len;
        uint32_t mode;
        uint32_t run_count, run_room;
        struct backup_run *runs;
        uint64_t checksum_count, checksum_room;
        uint64_t *checksums;
};

struct backup_index {
        uint8_t id[BACKUP_ID_BYTES];
        uint8_t since[BACKUP_ID_BYTES];
        uint8_t source[BACKUP_ID_BYTES];
        uint64_t sequence;
        uint64_t since_sequence;
        uint64_t time;
        uint64_t pages_here;
        struct manifest manifest;
        struct backup_file file[MANIFEST_FILES];
};

/* A page that is not zeros; they come in ascending order, file by file. -ENOMEM. */
int backup_index_add(struct backup_index *index, uint32_t file_no, uint64_t page_no, uint64_t checksum, bool is_here);
/* The run that has the page; NULL: it is zeros. */
const struct backup_run *backup_index_find(const struct backup_index *index, uint32_t file_no, uint64_t page_no);
bool backup_index_is_full(const struct backup_index *index);
void backup_index_free(struct backup_index *index);

static inline uint64_t backup_index_checksum(const struct backup_index *index, uint32_t file_no,
                                             const struct backup_run *run, uint64_t page_no)
{
        return index->file[file_no].checksums[run->checksum_at + (page_no - run->first)];
}

/* *bytes is the caller's to free(). -ENOMEM. */
int backup_index_encode(const struct backup_index *index, unsigned char **bytes, size_t *byte_len);
/* XAC_CORRUPT, XAC_FORMAT, -ENOMEM. To be freed on success. */
int backup_index_decode(struct backup_index *index, const unsigned char *bytes, size_t byte_len);
/* Of a backup's directory, or of the file itself, by its path. XAC_CORRUPT also if the manifest in it is of another
 * commit than the backup. */
int backup_index_load(struct backup_index *index, const char *path, struct trouble *trouble);

/* Where the n-th of a backup's own pages lies, if it continues another. */
uint32_t backup_piece_pages(uint32_t page_bytes);
void backup_piece_name(uint64_t piece, char name[BACKUP_PIECE_NAME_BYTES]); /* piece 0 is xac.pages.1 */

#endif
