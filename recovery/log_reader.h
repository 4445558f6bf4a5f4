/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_READER_H
#define RECOVERY_LOG_READER_H

/*
 * Reads the log of an environment that nobody has open, record by record, as far as it is valid (R11).
 * Changes nothing on disk. Reads by pread, so that a file that is cut short is a code and no signal.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/log_record.h"

struct log_reader;

/* Where the log is damaged. */
struct log_damage {
        uint32_t file_no; /* N of xac.log.N; UINT32_MAX: a missing one */
        uint64_t offset;  /* in that file */
        uint64_t position;
        const char *what; /* a static sentence; NULL: no damage */
        bool is_stray;    /* a file that does not belong there: what the log has is not known */
};

/* What to read: from `position` on, records of `incarnation`. */
struct log_range {
        uint8_t uuid[16];
        uint64_t segment_bytes;
        uint64_t position;
        uint32_t incarnation;
};

/* XAC_CORRUPT: the segment of the first position is missing or damaged; or a segment file is another
 * environment's, or two files hold the same segment; *reader is then there all the same, for
 * log_reader_damage, and is to be closed. Else, with *reader NULL: XAC_FORMAT: another version's; -EINVAL: no
 * such range; -ENOMEM, -EIO, ... */
int log_reader_open(int directory, const struct log_range *range, struct log_reader **reader);
void log_reader_close(struct log_reader *reader);

/* The next valid record and its payload (good until the next call). 1; 0 at the end of the log, torn tail
 * included; XAC_CORRUPT: damage (log_reader_damage says where); or -errno. */
int log_reader_next(struct log_reader *reader, struct log_record *record, const unsigned char **payload);

/* A glance ahead: the first bytes, at least LOG_ENTRY_HEADER + LOG_CHANGE_HEADER, of the entries of what claims to be
 * the record at *at, which is moved behind it. NULL: nothing is known of it yet. Nothing is verified: for hints only.
 */
const unsigned char *log_reader_glance(const struct log_reader *reader, uint64_t *at);

/* Is there a segment for that position? */
bool log_reader_has_segment(const struct log_reader *reader, uint64_t position);
/* Where the valid log ends (behind the last record; the next one would begin here or at the next block). */
uint64_t log_reader_end(const struct log_reader *reader);
/* Does a record of a later incarnation stand behind that? 1, 0 or -errno. */
int log_reader_has_later(struct log_reader *reader);
/* The time of the last pad before that; 0: none had one. */
uint64_t log_reader_time(const struct log_reader *reader);
/* How far files reach: no valid byte can stand beyond. */
uint64_t log_reader_limit(const struct log_reader *reader);

/* After XAC_CORRUPT. */
void log_reader_damage(const struct log_reader *reader, struct log_damage *damage);

/* Was what stands at the log's end a torn group rather than nothing (zeros, or an older part of the log)? */
bool log_reader_has_torn_tail(const struct log_reader *reader);

/* The segment files that the reader found, for people: which segment each one holds. Returns how many there
 * are; *file_no and *segment_no are those of number i. */
uint32_t log_reader_segment(const struct log_reader *reader, uint32_t i, uint32_t *file_no, uint64_t *segment_no);

#endif
