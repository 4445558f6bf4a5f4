/* SPDX-License-Identifier: MIT */
#include "recovery/log_reader.h"

/*
 * The rule for "valid", R11. Records follow one another without gaps (a pad ends each group); at the
 * first place where no valid one stands, the log ends. One question remains:
 *
 *      | group, durable | group, bad in the middle ... | a later group
 *                              ^ bad place                 durable = the end of the group before it
 *
 * The last group may have reached the disk in any subset of its sectors: a torn tail, whatever stands
 * behind the bad place. But a valid record further on that was staged when everything before `durable` was on
 * disk, with `durable` beyond the bad place, proves that the bad place was good once: damage.
 *
 * The proof need not be the first record of its group, which may have been staged while the group before was
 * still being written; so records are followed from each block that begins with a valid one. Stale parts
 * of the log, in recycled files, cost one comparison a block.
 *
 * Bytes are read in windows of positions, so that a record that crosses blocks and files is in one piece.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/hook.h"
#include "base/sys.h"
#include "recovery/log_files.h"
#include "recovery/log_header.h"

enum {
        WINDOW = 256 << 10,      /* measured: it leaves the second-level cache to the pages of replay */
        WINDOW_SLACK = 32 << 10, /* behind a record that is longer than a window: the next one's header */
        WINDOW_MAX = LOG_RECORD_MAX + WINDOW_SLACK,
        WASTE_MAX = 4 * LOG_RECORD_MAX
};

struct log_reader {
        struct log_range range;
        struct log_files files;

        unsigned char *window; /* WINDOW_MAX bytes: the log from window_at on */
        uint64_t window_at;
        size_t window_len;

        uint64_t position; /* of the next record: the end of the valid log so far */
        uint64_t time_ns;  /* of the last pad before it */
        bool has_ended;
        bool has_torn_tail;
        struct log_damage damage;

        /* In a search for records behind the end: */
        uint64_t waste;   /* bytes that more than one of those claims that have a right header only */
        uint64_t claimed; /* where the last of what they claim ends */
};

/* ---- Opening ---- */

static void damage_set(struct log_reader *reader, uint64_t position, const char *what)
{
        const struct log_file *file = log_files_at(&reader->files, position);

        reader->damage = (struct log_damage){
                .file_no = file ? file->file_no : UINT32_MAX,
                .offset = LOG_HEADER_BYTES + position % reader->range.segment_bytes,
                .position = position,
                .what = what,
        };
}

static const char *explain_stray(uint32_t file_no)
{
        if (file_no > LOG_FILE_NO_MAX)
                return "no log has so many files: somebody has put it there; remove it";
        return "a segment file is another environment's, or a copy of another one";
}

static int find_files(struct log_reader *reader, int directory)
{
        const struct log_range *range = &reader->range;
        uint32_t culprit;
        int err = log_files_open(&reader->files, directory, range->uuid, range->segment_bytes,
                                 range->position / range->segment_bytes, &culprit);

        if (err == XAC_CORRUPT)
                reader->damage = (struct log_damage){
                        .file_no = culprit,
                        .position = range->position,
                        .what = explain_stray(culprit),
                        .is_stray = true,
                };
        if (err)
                return err;
        if (log_files_at(&reader->files, range->position))
                return 0;
        damage_set(reader, range->position, "the segment in which the log begins is missing, or its header is damaged");
        return XAC_CORRUPT;
}

static bool range_makes_sense(const struct log_range *range)
{
        return range->segment_bytes >= LOG_BLOCK && range->segment_bytes % LOG_BLOCK == 0 && range->position % 8 == 0;
}

int log_reader_open(int directory, const struct log_range *range, struct log_reader **reader)
{
        struct log_reader *opened;
        void *window = NULL;

        *reader = NULL;
        if (!range_makes_sense(range))
                return -EINVAL;
        opened = calloc(1, sizeof(*opened));
        if (!opened)
                return -ENOMEM;
        opened->range = *range;
        opened->position = range->position;
        int err = find_files(opened, directory);
        if (!err)
                err = sys_mmap(NULL, WINDOW_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &window);
        if (!err)
                opened->window = window;
        opened->has_ended = err == XAC_CORRUPT;
        if (err && err != XAC_CORRUPT) {
                log_reader_close(opened);
                return err;
        }
        *reader = opened;
        return err;
}

void log_reader_close(struct log_reader *reader)
{
        if (!reader)
                return;
        if (reader->window)
                sys_munmap(reader->window, WINDOW_MAX);
        log_files_close(&reader->files);
        free(reader);
}

/* ---- Windows ---- */

/* Makes [position, position + byte_len) stand in one piece at *bytes. 1; 0: the files do not reach so far;
 * -errno. */
static int window_need(struct log_reader *reader, uint64_t position, size_t byte_len, const unsigned char **bytes)
{
        *bytes = NULL;
        if (position < reader->window_at || position - reader->window_at > reader->window_len ||
            reader->window_len - (position - reader->window_at) < byte_len) {
                size_t wanted = byte_len + WINDOW_SLACK < WINDOW ? WINDOW : byte_len + WINDOW_SLACK;

                reader->window_at = position;
                reader->window_len = 0;
                int err = log_files_read(&reader->files, position, reader->window, wanted, &reader->window_len);
                if (err) {
                        reader->window_len = 0;
                        return err;
                }
        }
        *bytes = reader->window + (position - reader->window_at);
        return reader->window_len - (position - reader->window_at) >= byte_len;
}

/* ---- Records ---- */

/* A wrong record: what it claims that another wrong one has claimed before is no honest log's. */
static void claim(struct log_reader *reader, uint64_t from, uint64_t byte_len)
{
        const uint64_t end = from + byte_len;

        if (reader->claimed > from)
                reader->waste += reader->claimed < end ? reader->claimed - from : byte_len;
        if (reader->claimed < end)
                reader->claimed = end;
}

/* Is there a valid record at `position`? 1, 0 or -errno. */
static int examine(struct log_reader *reader, uint64_t position, struct log_record *record,
                   const unsigned char **payload)
{
        const unsigned char *bytes;
        int found = window_need(reader, position, LOG_RECORD_HEADER, &bytes);

        if (found != 1)
                return found;
        if (log_record_peek_position(bytes) != position || !log_record_decode(bytes, record))
                return 0;
        if (record->incarnation != reader->range.incarnation && !hook_has_bug(HOOK_BUG_STALE_RECORD_ACCEPTED))
                return 0;
        found = window_need(reader, position, record->byte_len, &bytes);
        if (found < 0)
                return found;
        *payload = bytes + LOG_RECORD_HEADER;
        if (found && (record->kind == LOG_PAD || hook_has_bug(HOOK_BUG_CHECKSUM_IGNORED)))
                return 1;
        if (found && checksum_crc32c(0, *payload, record->payload_len) == record->payload_crc)
                return 1;
        claim(reader, record->position, record->byte_len);
        return 0;
}

/* Does what stands at `position` claim to be a record of this part of the log? */
static int is_torn_record(struct log_reader *reader, uint64_t position)
{
        const unsigned char *bytes;
        int found = window_need(reader, position, LOG_RECORD_HEADER, &bytes);

        if (found != 1)
                return found;
        return log_record_peek_position(bytes) == position &&
               log_record_peek_incarnation(bytes) == reader->range.incarnation;
}

/* Follows valid records from *at on, which is moved behind them. 1: one proves that `bad` was on disk. */
static int follow_to_proof(struct log_reader *reader, uint64_t bad, uint64_t *at)
{
        struct log_record record;
        const unsigned char *payload;
        int found;

        while ((found = examine(reader, *at, &record, &payload)) == 1) {
                reader->has_torn_tail = true;
                if (record.durable > bad)
                        return 1;
                *at += record.byte_len;
        }
        return found;
}

/* Moves *at to the next block that may have bytes; UINT64_MAX: there is none. *until: no hole comes before that. */
static int next_block(struct log_reader *reader, uint64_t *at, uint64_t *until)
{
        *at = log_round_up(*at + 1);
        return *at < *until ? 0 : log_files_skip_zeros(&reader->files, at, until);
}

/* Records of one log do not overlap. In one that somebody has made each block may begin like a record of 4 MiB, and to
 * find each of them wrong would take hours. */
static bool has_overlaps(const struct log_reader *reader)
{
        return reader->waste > WASTE_MAX;
}

static int damaged_at(struct log_reader *reader, uint64_t bad, const char *what)
{
        damage_set(reader, bad, what);
        reader->has_torn_tail = false;
        return XAC_CORRUPT;
}

/* No valid record at `bad`: the end of the log (0), or damage. */
static int find_out_why(struct log_reader *reader, uint64_t bad)
{
        uint64_t at = bad, until = 0;
        int found = is_torn_record(reader, bad);

        reader->has_torn_tail = found == 1;
        reader->waste = reader->claimed = 0;
        while (found >= 0 && !(found = next_block(reader, &at, &until)) && at != UINT64_MAX) {
                found = follow_to_proof(reader, bad, &at);
                if (found == 1)
                        return damaged_at(
                                reader, bad,
                                log_files_at(&reader->files, bad)
                                        ? "no valid record stands where a later one proves that one was on disk"
                                        : "a segment is missing that a later record proves to have been on disk");
                if (has_overlaps(reader))
                        return damaged_at(
                                reader, bad,
                                "no valid record stands here, and more begin behind it than there is room for");
        }
        return found < 0 ? found : 0;
}

int log_reader_next(struct log_reader *reader, struct log_record *record, const unsigned char **payload)
{
        if (reader->has_ended)
                return reader->damage.what ? XAC_CORRUPT : 0;
        for (;;) {
                int found = examine(reader, reader->position, record, payload);

                if (found < 0)
                        return found;
                if (found == 0)
                        break;
                reader->position += record->byte_len;
                if (record->kind != LOG_PAD)
                        return 1;
                reader->time_ns = record->sequence;
        }
        int result = find_out_why(reader, reader->position);
        reader->has_ended = result == 0 || result == XAC_CORRUPT;
        return result;
}

/* ---- What it found ---- */

const unsigned char *log_reader_glance(const struct log_reader *reader, uint64_t *at)
{
        const uint32_t least = LOG_ENTRY_HEADER + LOG_CHANGE_HEADER;
        uint64_t offset = *at - reader->window_at;
        uint32_t byte_len, entry;

        if (*at < reader->window_at || offset + LOG_RECORD_HEADER + LOG_MERGED_HEADER + least > reader->window_len)
                return NULL;
        byte_len = log_record_claimed_len(reader->window + offset);
        entry = log_record_claimed_entry(reader->window + offset);
        if (byte_len < entry + least || byte_len > LOG_RECORD_MAX)
                return NULL;
        *at += byte_len;
        return reader->window + offset + entry;
}

bool log_reader_has_segment(const struct log_reader *reader, uint64_t position)
{
        return log_files_at(&reader->files, position) != NULL;
}

uint64_t log_reader_end(const struct log_reader *reader)
{
        return reader->position;
}

static int is_later(struct log_reader *reader, uint64_t position)
{
        struct log_record record;
        const unsigned char *bytes;
        int found = window_need(reader, position, LOG_RECORD_HEADER, &bytes);

        if (found != 1)
                return found;
        return log_record_peek_position(bytes) == position && log_record_decode(bytes, &record) &&
               record.incarnation > reader->range.incarnation;
}

int log_reader_has_later(struct log_reader *reader)
{
        uint64_t at = reader->position, until = 0;
        int found = is_later(reader, at);

        while (!found && !(found = next_block(reader, &at, &until)) && at != UINT64_MAX)
                found = is_later(reader, at);
        return found;
}

uint64_t log_reader_time(const struct log_reader *reader)
{
        return reader->time_ns;
}

uint64_t log_reader_limit(const struct log_reader *reader)
{
        return log_files_limit(&reader->files);
}

void log_reader_damage(const struct log_reader *reader, struct log_damage *damage)
{
        *damage = reader->damage;
}

bool log_reader_has_torn_tail(const struct log_reader *reader)
{
        return reader->has_torn_tail;
}

uint32_t log_reader_segment(const struct log_reader *reader, uint32_t i, uint32_t *file_no, uint64_t *segment_no)
{
        if (i < reader->files.count) {
                *file_no = reader->files.file[i].file_no;
                *segment_no = reader->files.file[i].segment_no;
        }
        return reader->files.count;
}
