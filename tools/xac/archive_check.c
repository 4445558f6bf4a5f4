/* SPDX-License-Identifier: MIT */
#include "tools/xac/archive_check.h"

/*
 * The records are read from the first piece on. Where they end, at a gap or at damage, they are read on from the next
 * piece that they can begin with, by the same reader, which has unpacked some of it for a record that was damaged.
 * Pieces that the reader had no need of, as no record begins in them, are unpacked by themselves.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xac/xac.h>

#include "base/say.h"
#include "recovery/archive_reader.h"
#include "tools/xac/archive_list.h"

struct check {
        struct archive_place place;
        struct archive_reader *reader; /* NULL: none so far */
        struct findings findings;      /* of the reader */
        char sentence[RECOVER_SENTENCE];
        uint64_t newest;  /* commit that was read, or told of as lost; 0: none yet */
        uint64_t damaged; /* places */
        uint64_t gaps;
};

static void print_damage(void *arg, const char *sentence)
{
        (void)arg;
        say(stdout, "DAMAGED: %s\n", sentence);
}

static void keep_sentence(void *arg, const char *sentence)
{
        struct check *check = arg;

        snprintf(check->sentence, sizeof(check->sentence), "%s", sentence);
}

/* Also those that began in the piece before, and were not whole without this one. */
static void report_piece(struct check *check, uint32_t i, const char *sentence)
{
        const struct archive_part *part = &check->place.line.piece[i].part;
        uint64_t first = part->before + 1;

        if (part->last && check->newest && check->newest < part->before)
                first = check->newest + 1;
        check->damaged++;
        if (part->last)
                say(stdout, "DAMAGED: %s; it had commits %" PRIu64 " to %" PRIu64 "\n", sentence, first, part->last);
        else
                say(stdout, "DAMAGED: %s; no commit begins in it\n", sentence);
        check->newest = part->last ? part->last : check->newest;
}

static void report_gap(struct check *check, uint32_t i)
{
        const struct archive_part *part = &check->place.line.piece[i].part;

        check->gaps++;
        archive_print_gap(&check->place.line, i, check->newest);
        check->newest = part->last ? part->before : check->newest;
}

/* Pieces [from, to), but for `except`, which was reported. */
static int check_bodies(struct check *check, uint32_t from, uint32_t to, uint32_t except)
{
        const struct archive_line *line = &check->place.line;
        char sentence[RECOVER_SENTENCE], name[ARCHIVE_NAME_BYTES];
        unsigned char *bytes = from < to ? malloc(line->piece[from].part.segment_bytes) : NULL;
        int err = from < to && !bytes ? -ENOMEM : 0;

        for (uint32_t i = from; !err && i < to; i++) {
                const struct archive_part *part = &line->piece[i].part;

                err = i == except ? 0 : archive_get(check->place.directory, part, bytes);
                if (err != XAC_CORRUPT)
                        continue;
                archive_file_name(name, part->from, part->to, part->session.incarnation);
                snprintf(sentence, sizeof(sentence), "%s: its bytes are damaged", name);
                report_piece(check, i, sentence);
                err = 0;
        }
        free(bytes);
        return err;
}

/* 0: the archive ends; XAC_CORRUPT, -errno. */
static int read_records(struct check *check)
{
        const unsigned char *payload;
        struct log_record record;
        uint32_t piece;
        int more;

        while ((more = archive_reader_next(check->reader, &record, &payload, &piece)) == 1)
                if (record.kind == LOG_COMMIT || record.kind == LOG_MERGED)
                        check->newest = record.sequence;
        return more;
}

static int begin_at(struct check *check, uint32_t first)
{
        if (!check->reader)
                return archive_reader_open(check->place.directory, &check->place.line, first, &check->findings,
                                           &check->reader);
        archive_reader_go_on(check->reader, first);
        return 0;
}

/* From piece `first` on, as far as records follow one another; *next is where to go on. */
static int check_records(struct check *check, uint32_t first, uint32_t *next)
{
        const struct archive_line *line = &check->place.line;
        uint32_t culprit = UINT32_MAX;
        int err = begin_at(check, first);

        *next = line->count;
        if (err)
                return err;
        err = read_records(check);
        if (err == XAC_CORRUPT) {
                culprit = archive_reader_culprit(check->reader);
                /* The reader takes no notice of a gap before its first piece. */
                const bool is_gap = culprit > first && line->piece[culprit].gap;

                *next = is_gap ? culprit : culprit + 1;
                if (is_gap)
                        report_gap(check, culprit);
                else
                        report_piece(check, culprit, check->sentence);
                err = 0;
        }
        return err ? err : check_bodies(check, archive_reader_unpacked(check->reader), *next, culprit);
}

/* A piece in which no record of its session begins has nothing for a reader. */
static int check_from(struct check *check, uint32_t first, uint32_t *next)
{
        const struct archive_piece *piece = &check->place.line.piece[first];

        if (piece->part.first_record < piece->session_end)
                return check_records(check, first, next);
        *next = first + 1;
        return check_bodies(check, first, *next, UINT32_MAX);
}

static int check_line(struct check *check)
{
        const struct archive_line *line = &check->place.line;
        uint32_t first = 0;
        int err = 0;

        while (!err && first < line->count) {
                const uint64_t gaps = check->gaps;

                err = check_from(check, first, &first);
                /* Behind damage no reader arrives at a gap. */
                if (!err && first < line->count && line->piece[first].gap && gaps == check->gaps)
                        report_gap(check, first);
        }
        if (!err && line->is_end_lost && check->newest)
                say(stdout, "GAP: the end is damaged: commits after %" PRIu64 "\n", check->newest);
        return err;
}

static void print_result(const struct check *check)
{
        const struct archive_line *line = &check->place.line;
        const uint64_t damaged = check->damaged + check->place.findings.count;
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < line->count; i++)
                bytes += line->piece[i].part.header_bytes + line->piece[i].part.packed_bytes;
        tool_label("checked");
        say(stdout, "%s, %s\n", tool_count(line->count, "file", "files"), tool_bytes(bytes));
        tool_label("result");
        if (damaged)
                say(stdout, "DAMAGED, in %s\n", tool_count(damaged, "file", "files"));
        else
                say(stdout, "%s\n", check->gaps ? "sound, but not all is there" : "sound");
}

enum tool_exit archive_check_run(const char *path, bool is_quiet)
{
        static struct check check;
        enum tool_exit result = archive_place_open(&check.place, path, print_damage);

        if (result != TOOL_DONE)
                return result;
        check.findings = (struct findings){ .report = keep_sentence, .arg = &check };
        int err = check_line(&check);
        if (err == -EOPNOTSUPP)
                tool_complain("%s is compressed by zstd, which this build does not have", path);
        else if (err)
                tool_complain("%s: %s", path, tool_explain(err));
        else if (!is_quiet)
                print_result(&check);
        if (err || check.damaged || check.gaps || check.place.findings.count)
                result = TOOL_FAILED;
        archive_reader_close(check.reader);
        archive_place_close(&check.place);
        return result;
}
