/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_BACKUP_WRITER_H
#define BACKUP_BACKUP_WRITER_H

/*
 * Makes a backup of the pages that it is given, file by file, in ascending order; what is not given is zeros.
 *
 *      1. files of plain pages, or pieces with the pages that have changed since the backup that this one continues;
 *         each synced when it is complete
 *      2. the index (backup_index.h), synced; the directory
 *      3. all of it is read back, and the checksums are compared
 *      4. the manifest, synced (not where it continues another: that is no environment)
 *      5. the directory gets its name; the one above it is synced
 *
 * Whatever ends it before 5 leaves nothing under that name, and whatever ends it before 4 nothing that opens. As a
 * stream it is the same files in the same order, without 3 and 5.
 */

#include "backup/backup_index.h"
#include "backup/backup_verify.h"
#include "backup/sink.h"

struct backup_order {
        const char *destination; /* a directory that is not there yet, or empty; "-": a stream */
        int stream_fd;
        const char *since; /* the backup that it continues; NULL: none */
        struct pace *pace;
        struct backup_progress progress;
};

struct backup_writer {
        const struct backup_order *order;
        struct trouble *trouble;
        struct sink sink;
        struct backup_index index;
        struct backup_index since;
        bool is_incremental;
        uint32_t file_no;
        unsigned char *piece; /* changed pages that are not written yet */
        uint64_t done, total; /* pages */
};

/* `manifest` is the environment's, as of `sequence`; `total` pages, for the progress. To be closed on success. */
int backup_writer_open(struct backup_writer *writer, const struct backup_order *order, const struct manifest *manifest,
                       uint64_t sequence, uint64_t total, struct trouble *trouble);
int backup_writer_begin_file(struct backup_writer *writer, uint32_t file_no, uint64_t byte_len, mode_t mode);
/* One step (pace.h), in which so many bytes were read. */
int backup_writer_put(struct backup_writer *writer, uint64_t page_no, const void *bytes, uint32_t count,
                      uint64_t read_bytes);
/* So many pages are zeros. */
int backup_writer_skip(struct backup_writer *writer, uint64_t count);
int backup_writer_end_file(struct backup_writer *writer);
/* Makes it whole, or, if err is an error that came before, removes it. Returns err or its own. The index stays, until
 * backup_writer_close(). */
int backup_writer_finish(struct backup_writer *writer, int err);
void backup_writer_close(struct backup_writer *writer);

/* Step 4, of a directory that is synced; also for what is put together from backups. */
int backup_make_environment(int directory, struct manifest *manifest, struct trouble *trouble);
/* The manifest of a new environment with the same files and content. */
int backup_new_manifest(const struct backup_index *index, struct manifest *manifest);

#endif
