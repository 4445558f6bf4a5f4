/* SPDX-License-Identifier: MIT */
#include "recovery/archive_reader.h"

/*
 * A window on the log: what has been unpacked and not yet read, in one piece. At its end the next part is put behind
 * what is left, which is less than a record. Where there is no room for it, what is left moves to the front.
 *
 *      | read | the record now |      | part                       |
 *                             at                                    end
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"

struct archive_reader {
        int directory;
        const struct archive_line *line;
        struct findings *findings;
        uint32_t first; /* piece to begin with */
        uint32_t next;  /* that is put into the window next */
        uint32_t piece; /* in which `position` lies */
        uint32_t culprit;
        uint64_t position;

        unsigned char *window; /* [window_at, window_end) of the log */
        size_t room;
        uint64_t window_at;
        uint64_t window_end;
        unsigned char *part; /* unpacked */
};

void archive_reader_go_on(struct archive_reader *reader, uint32_t piece)
{
        const struct archive_piece *begin = &reader->line->piece[piece];

        reader->first = reader->piece = piece;
        reader->position = begin->part.first_record;
        if (reader->position < begin->begin) /* what is before is not of this line */
                reader->position = begin->begin;
        if (piece < reader->next)
                return;
        reader->next = piece;
        reader->window_at = reader->window_end = begin->begin;
}

int archive_reader_open(int directory, const struct archive_line *line, uint32_t first, struct findings *findings,
                        struct archive_reader **reader)
{
        struct archive_reader *opened = calloc(1, sizeof(*opened));
        uint64_t segment_bytes = line->piece[first].part.segment_bytes;

        *reader = NULL;
        if (!opened)
                return -ENOMEM;
        *opened = (struct archive_reader){
                .directory = directory,
                .line = line,
                .findings = findings,
                .room = 2 * (LOG_RECORD_MAX + segment_bytes),
        };
        archive_reader_go_on(opened, first);
        opened->window = malloc(opened->room);
        opened->part = malloc(segment_bytes);
        if (!opened->window || !opened->part) {
                archive_reader_close(opened);
                return -ENOMEM;
        }
        *reader = opened;
        return 0;
}

void archive_reader_close(struct archive_reader *reader)
{
        if (!reader)
                return;
        free(reader->window);
        free(reader->part);
        free(reader);
}

/* ---- What is wrong ---- */

static int complain(struct archive_reader *reader, uint32_t piece, const char *what)
{
        const struct archive_part *part = &reader->line->piece[piece].part;
        char name[ARCHIVE_NAME_BYTES];

        reader->culprit = piece;
        archive_file_name(name, part->from, part->to, part->session.incarnation);
        return findings_add(reader->findings, "%s: %s (position %" PRIu64 ")", name, what, reader->position);
}

/* ---- The window ---- */

/* There is room for twice what may be left, so that small parts do not move a large record each. */
static void window_move(struct archive_reader *reader, uint64_t keep_from)
{
        memmove(reader->window, reader->window + (keep_from - reader->window_at), reader->window_end - keep_from);
        reader->window_at = keep_from;
}

/* 1: there is more in it; 0: the archive ends. */
static int window_fill(struct archive_reader *reader)
{
        const struct archive_piece *piece = &reader->line->piece[reader->next];
        uint64_t keep_from = reader->position < reader->window_end ? reader->position : reader->window_end;

        if (reader->next == reader->line->count)
                return 0;
        if (piece->gap && reader->next > reader->first)
                return complain(reader, reader->next, piece->gap);
        int err = archive_get(reader->directory, &piece->part, reader->part);
        if (err == XAC_CORRUPT)
                return complain(reader, reader->next, "its bytes are damaged");
        if (err)
                return err;
        if (reader->window_end - keep_from + piece->end - piece->begin > reader->room)
                return complain(reader, reader->next, "a record before it has no end");
        if (reader->window_end - reader->window_at + piece->end - piece->begin > reader->room)
                window_move(reader, keep_from);
        memcpy(reader->window + (reader->window_end - reader->window_at),
               reader->part + (piece->begin - piece->part.from), piece->end - piece->begin);
        reader->window_end = piece->end;
        reader->next++;
        return 1;
}

/* Makes [position, position + byte_len) stand in one piece at *bytes. 1; 0: the archive does not reach so far. */
static int window_need(struct archive_reader *reader, size_t byte_len, const unsigned char **bytes)
{
        while (reader->position > reader->window_end || reader->window_end - reader->position < byte_len) {
                int more = window_fill(reader);

                if (more != 1)
                        return more;
        }
        *bytes = reader->window + (reader->position - reader->window_at);
        return 1;
}

/* ---- Records ---- */

static void find_piece(struct archive_reader *reader)
{
        while (reader->piece < reader->line->count && reader->line->piece[reader->piece].end <= reader->position)
                reader->piece++;
}

/* Is there a valid record at the reader's position? 1, 0 or an error. */
static int examine(struct archive_reader *reader, struct log_record *record, const unsigned char **payload)
{
        uint32_t incarnation = reader->line->piece[reader->piece].part.session.incarnation;
        uint64_t end = reader->line->piece[reader->piece].session_end;
        const unsigned char *bytes;

        if (end - reader->position < LOG_RECORD_HEADER)
                return 0;
        int found = window_need(reader, LOG_RECORD_HEADER, &bytes);
        if (found != 1)
                return found;
        if (!log_record_decode(bytes, record) || record->position != reader->position ||
            record->incarnation != incarnation || record->byte_len > end - reader->position)
                return 0;
        found = window_need(reader, record->byte_len, &bytes);
        if (found != 1)
                return found;
        *payload = bytes + LOG_RECORD_HEADER;
        return record->kind == LOG_PAD || checksum_crc32c(0, *payload, record->payload_len) == record->payload_crc;
}

/* Does a record begin here that ends beyond the session's archived part? */
static int is_cut_record(struct archive_reader *reader)
{
        const struct archive_piece *piece = &reader->line->piece[reader->piece];
        const unsigned char *bytes;
        struct log_record record;
        int found = 0;

        if (piece->session_end - reader->position >= LOG_RECORD_HEADER)
                found = window_need(reader, LOG_RECORD_HEADER, &bytes);
        if (found != 1)
                return found;
        return log_record_decode(bytes, &record) && record.position == reader->position &&
               record.incarnation == piece->part.session.incarnation &&
               record.byte_len > piece->session_end - reader->position;
}

/* No valid record here: the end of a session, whose last block may have anything behind the last record; or the archive
 * has no more of it than the beginning of a record; else damage. */
static int explain(struct archive_reader *reader)
{
        const struct archive_line *line = reader->line;
        uint64_t end = line->piece[reader->piece].session_end;
        uint32_t next = reader->piece;
        int is_cut = 0;

        while (next < line->count && line->piece[next].end <= end)
                next++;
        if (log_round_up(reader->position) != end && (next == line->count || line->piece[next].gap))
                is_cut = is_cut_record(reader);
        if (is_cut < 0)
                return is_cut;
        if (log_round_up(reader->position) != end && !is_cut)
                return complain(reader, reader->piece, "no valid record stands where one should");
        reader->position = end;
        return 0;
}

int archive_reader_next(struct archive_reader *reader, struct log_record *record, const unsigned char **payload,
                        uint32_t *piece)
{
        for (;;) {
                find_piece(reader);
                if (reader->piece == reader->line->count)
                        return 0;
                if (reader->line->piece[reader->piece].begin > reader->position)
                        return complain(reader, reader->piece, reader->line->piece[reader->piece].gap);
                int found = examine(reader, record, payload);

                if (found < 0)
                        return found;
                if (found == 1)
                        break;
                int err = explain(reader);
                if (err)
                        return err;
        }
        *piece = reader->piece;
        reader->position += record->byte_len;
        return 1;
}

uint32_t archive_reader_culprit(const struct archive_reader *reader)
{
        return reader->culprit;
}

uint32_t archive_reader_unpacked(const struct archive_reader *reader)
{
        return reader->next;
}
