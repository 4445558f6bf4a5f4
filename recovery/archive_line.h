/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ARCHIVE_LINE_H
#define RECOVERY_ARCHIVE_LINE_H

/*
 * What the parts of an archive make up: the log, in pieces, in order, with each place where one does not go on from
 * the one before. A gap is never silent: positions only grow, within sessions and from one to the next, and every
 * commit takes some; what changes pages without a log raises the history; and a session names the one that had logged
 * last before it, so that those of a copy, which went on by itself, are not taken for what followed.
 */

#include "recovery/archive.h"

/* A part, as far as it counts. */
struct archive_piece {
        struct archive_part part;
        uint64_t begin;
        uint64_t end;
        uint64_t session_end; /* of the last piece of its session */
        const char *gap;      /* why it does not go on from the piece before; NULL: it does, or is the first */

        /* Looked for once, as there may be any number of pieces. */
        uint64_t newest_before; /* commit, by the headers of the pieces before; 0: they have none */
        uint32_t next_commits;  /* number of the first piece from this one on that has commits; count: none has */
        uint64_t newest_ns;     /* time of its newest commit: the group may end in a later piece */
        uint64_t earliest_ns;   /* of groups from this piece on, by the machine's clock; UINT64_MAX: not known */
};

struct archive_line {
        struct archive_piece *piece;
        uint32_t count;
        uint8_t uuid[16];
        bool is_end_lost; /* behind the last piece a part is damaged */
};

/* Reads the headers of all parts. `uuid`: whose archive it is; NULL: that of the first part. What is damaged is
 * reported; XAC_CORRUPT: a part is another environment's, or of a session of another history (a copy of the environment
 * that went on by itself). -ENOENT: there is none at all; -ENOMEM, -EIO, ... Close it in any case. */
int archive_line_open(struct archive_line *line, int directory, const uint8_t uuid[16], struct findings *findings);
void archive_line_close(struct archive_line *line);

/* Retention: how many pieces, from the first one on, nobody needs who has a backup of commit `sequence` (0: any), or of
 * time_ns (0: any), or a later one. The newest part of all is never among them, as it tells where the archive goes on.
 */
uint32_t archive_line_old(const struct archive_line *line, uint64_t sequence, uint64_t time_ns);
/* Removes their files, the oldest first: *removed of them. */
int archive_line_forget(const struct archive_line *line, int directory, uint64_t sequence, uint64_t time_ns,
                        uint64_t *removed);

#endif
