/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_FILES_H
#define RECOVERY_LOG_FILES_H

/*
 * The segment files of a log that nobody has open, for reading: which file holds which part,
 * and bytes by position, whatever files they stand in. Changes nothing.
 */

#include <stddef.h>
#include <stdint.h>

struct log_file {
        uint32_t file_no;
        uint64_t segment_no;
        uint64_t byte_len; /* of the file: what it should have and has not reads as zeros */
};

struct log_files {
        int directory;
        uint64_t segment_bytes;
        uint32_t count;
        uint32_t capacity;
        struct log_file *file; /* all that were found, in ascending order of their segments */
        uint32_t open_no;      /* of the file that is open; 0: none */
        int fd;
};

/* Looks at every xac.log.N. Files without a sound header are not segments (a crash may leave one half made)
 * and are passed over. XAC_CORRUPT: another environment's, or two hold one segment from first_segment on;
 * XAC_FORMAT; -errno. *culprit is then the file's N, 0 if it was none in particular. Close it in any case. */
int log_files_open(struct log_files *files, int directory, const uint8_t uuid[16], uint64_t segment_bytes,
                   uint64_t first_segment, uint32_t *culprit);
void log_files_close(struct log_files *files);

/* The file that holds a position, or NULL. */
const struct log_file *log_files_at(const struct log_files *files, uint64_t position);
/* `position`, or the start of the first segment behind it that is there; UINT64_MAX if there is none. */
uint64_t log_files_skip_missing(const struct log_files *files, uint64_t position);
/* The same over all that reads as zeros, because a file is shorter than its segment, or has a hole there: somebody may
 * have made it so that it claims more than it has. *position, a multiple of LOG_BLOCK, is moved to the next such that
 * may have bytes, or to UINT64_MAX. None before *until is to be passed over. */
int log_files_skip_zeros(struct log_files *files, uint64_t *position, uint64_t *until);
/* The end of the last segment; 0 if there is none. */
uint64_t log_files_limit(const struct log_files *files);

/* Reads [position, position + byte_len), up to the first segment that is missing; *got bytes. 0 or -errno. */
int log_files_read(struct log_files *files, uint64_t position, void *bytes, size_t byte_len, size_t *got);

#endif
