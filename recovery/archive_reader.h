/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ARCHIVE_READER_H
#define RECOVERY_ARCHIVE_READER_H

/*
 * Reads the log that an archive holds, record by record, over all its parts and sessions.
 */

#include "recovery/archive_line.h"
#include "recovery/log_record.h"

struct archive_reader;

/* Begins with the first record of piece number `first`. -ENOMEM. `line` must stay. */
int archive_reader_open(int directory, const struct archive_line *line, uint32_t first, struct findings *findings,
                        struct archive_reader **reader);
void archive_reader_close(struct archive_reader *reader);

/* The next record, pads included, and its payload (good until the next call). 1; 0: the archive ends; XAC_CORRUPT,
 * reported: a gap, or damage; -errno. *piece is that in which it begins. */
int archive_reader_next(struct archive_reader *reader, struct log_record *record, const unsigned char **payload,
                        uint32_t *piece);

/* After XAC_CORRUPT: reads on from that piece, which is the culprit if a gap lies before it, or a later one. What has
 * been unpacked is not unpacked again. */
void archive_reader_go_on(struct archive_reader *reader, uint32_t piece);

/* After XAC_CORRUPT: the piece that is damaged, or lies behind the gap. */
uint32_t archive_reader_culprit(const struct archive_reader *reader);
/* Pieces from `first` up to this one have been unpacked, and are what their checksums say. */
uint32_t archive_reader_unpacked(const struct archive_reader *reader);

#endif
