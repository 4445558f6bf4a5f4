/* SPDX-License-Identifier: MIT */
#include "recovery/rebuild.h"

#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "recovery/log_reader.h"

enum { PROGRESS_BYTES = 4 << 20, WHERE_BYTES = 96 };

/* ---- What is damaged ---- */

/* "xac.log.3 offset 8192 (position 73728)". */
static void name_place(char where[WHERE_BYTES], uint32_t file_no, uint64_t offset, uint64_t position)
{
        if (file_no == UINT32_MAX)
                (void)snprintf(where, WHERE_BYTES, "log position %llu, of which there is no file",
                               (unsigned long long)position);
        else
                (void)snprintf(where, WHERE_BYTES, LOG_FILE_PREFIX "%u: offset %llu (position %llu)", file_no,
                               (unsigned long long)offset, (unsigned long long)position);
}

/* R36. The log ends here, if that is wanted. Pages that went home as of a commit need it up to there. */
static int give_up(const struct rebuild *rebuild, int err)
{
        rebuild->recovery->has_given_up = rebuild->recovery->gives_up_damaged && !rebuild->until;
        return rebuild->recovery->has_given_up ? 0 : err;
}

static int end_at_damage(const struct rebuild *rebuild, const struct log_reader *reader)
{
        struct log_damage damage;
        char where[WHERE_BYTES];
        int err;

        log_reader_damage(reader, &damage);
        name_place(where, damage.file_no, damage.offset, damage.position);
        err = findings_add(rebuild->findings, "%s: %s; commits after %llu are lost", where, damage.what,
                           (unsigned long long)replay_sequence(rebuild->replay));
        return damage.is_stray ? err : give_up(rebuild, err);
}

static uint32_t file_of(const struct log_reader *reader, uint64_t segment_no)
{
        uint32_t file_no;
        uint64_t held_no;
        uint32_t count = log_reader_segment(reader, 0, &file_no, &held_no);

        for (uint32_t i = 0; i < count; i++) {
                log_reader_segment(reader, i, &file_no, &held_no);
                if (held_no == segment_no)
                        return file_no;
        }
        return UINT32_MAX;
}

/* What is wrong at a position that the reader itself found nothing wrong with. */
static int report_position(const struct rebuild *rebuild, const struct log_reader *reader, uint64_t position,
                           const char *what)
{
        uint64_t segment_bytes = rebuild->manifest->segment_bytes;
        uint32_t file_no = file_of(reader, position / segment_bytes);
        char where[WHERE_BYTES];

        name_place(where, file_no, LOG_HEADER_BYTES + position % segment_bytes, position);
        return findings_add(rebuild->findings, "%s: %s; commits after %llu are lost", where, what,
                            (unsigned long long)replay_sequence(rebuild->replay));
}

/* ---- Rebuild ---- */

static int read_home(void *arg, uint64_t page, void *bytes)
{
        struct rebuild *rebuild = arg;
        int err = home_files_read(rebuild->homes, page, bytes);

        rebuild->is_home_lost |= err == XAC_CORRUPT;
        return err == HOME_FILES_LOST ? REPLAY_LOST : err;
}

/* Growth is on disk before a commit to what has grown, so the files are as long now as ever. */
static int need_home(void *arg, uint64_t page)
{
        struct rebuild *rebuild = arg;
        int err = home_files_need(rebuild->homes, page);

        rebuild->is_home_lost |= err == XAC_CORRUPT;
        return err;
}

static int open_reader(const struct rebuild *rebuild, struct log_reader **reader)
{
        const struct manifest *manifest = rebuild->manifest;
        struct log_range range = {
                .segment_bytes = manifest->segment_bytes,
                .position = manifest->redo_position,
                .incarnation = manifest->incarnation,
        };
        int err;

        memcpy(range.uuid, manifest->uuid, sizeof(range.uuid));
        *reader = NULL;
        err = log_reader_open(rebuild->recovery->directory, &range, reader);
        return err == XAC_CORRUPT ? 0 : err; /* the first look for a record says it again */
}

static int replay_one(const struct rebuild *rebuild, const struct log_reader *reader, const struct log_record *record,
                      const unsigned char *payload)
{
        int err = replay_record(rebuild->replay, record, payload);

        if (err != XAC_CORRUPT || rebuild->is_home_lost)
                return err; /* what is wrong with a file is reported already */
        return report_position(rebuild, reader, record->position,
                               "the record's checksums are right but it makes no sense");
}

/* Records are short and their pages far apart: without a look ahead replay waits for memory most of the time. */
enum { FAR_RECORDS = 16, NEAR_RECORDS = 8 };

struct look_ahead {
        uint64_t position; /* of the record that is looked at next */
        int records;       /* how many it is ahead */
};

static void look_ahead(const struct rebuild *rebuild, const struct log_reader *reader, struct look_ahead *ahead,
                       int wanted)
{
        const unsigned char *payload;

        if (ahead->records == 0 || --ahead->records == 0)
                ahead->position = log_reader_end(reader);
        while (ahead->records < wanted && (payload = log_reader_glance(reader, &ahead->position))) {
                replay_expect(rebuild->replay, payload, wanted == NEAR_RECORDS);
                ahead->records++;
        }
}

static bool is_there(const struct rebuild *rebuild)
{
        return rebuild->until && replay_sequence(rebuild->replay) == rebuild->until;
}

static int replay_all(const struct rebuild *rebuild, struct log_reader *reader)
{
        struct progress progress = { .recovery = rebuild->recovery, .what = "replay", .step = PROGRESS_BYTES };
        uint64_t begin = rebuild->manifest->redo_position;
        uint64_t limit = log_reader_limit(reader);
        struct log_record record;
        struct look_ahead far = { 0 };
        struct look_ahead near = { 0 };
        const unsigned char *payload;
        int err = 0;

        while (!is_there(rebuild) && (err = log_reader_next(reader, &record, &payload)) > 0) {
                look_ahead(rebuild, reader, &far, FAR_RECORDS);
                look_ahead(rebuild, reader, &near, NEAR_RECORDS);
                err = replay_one(rebuild, reader, &record, payload);
                if (err)
                        return err;
                progress_tell(&progress, log_reader_end(reader) - begin, limit - begin);
        }
        if (err)
                return err == XAC_CORRUPT ? end_at_damage(rebuild, reader) : err;
        progress_tell(&progress, log_reader_end(reader) - begin, log_reader_end(reader) - begin);
        return 0;
}

/* M6 of seal.h: a manifest is on disk before the first record of its session. */
static int judge_session(const struct rebuild *rebuild, struct log_reader *reader)
{
        int found = rebuild->until || rebuild->recovery->has_given_up ? 0 : log_reader_has_later(reader);

        if (found != 1)
                return found;
        return give_up(rebuild, report_position(rebuild, reader, log_reader_end(reader),
                                                "records of a later session than the manifest's stand behind this: the "
                                                "files are of different moments"));
}

/* The checkpoint was taken when the log was on disk up to its base. */
static int judge_end(struct rebuild *rebuild, struct log_reader *reader)
{
        const struct manifest *manifest = rebuild->manifest;
        int err = judge_session(rebuild, reader);

        if (err)
                return err;
        rebuild->end = log_round_up(log_reader_end(reader));
        if (rebuild->until ? is_there(rebuild) : rebuild->end >= manifest->base_position)
                return 0;
        if (!rebuild->recovery->has_given_up)
                err = give_up(rebuild, report_position(rebuild, reader, log_reader_end(reader),
                                                       "the log ends before the checkpoint's end, which was on disk"));
        rebuild->end = log_round_up(manifest->base_position);
        return err;
}

/* A record is staged only where its pad fits as well (log_writer.c), so the segment behind it is on disk. */
static int judge_rest(const struct rebuild *rebuild, const struct log_reader *reader)
{
        if (!rebuild->goes_on || rebuild->recovery->gives_up_damaged ||
            log_reader_has_segment(reader, rebuild->goes_on))
                return 0;
        return report_position(rebuild, reader, rebuild->goes_on,
                               "the segment in which the log goes on is missing, or its header is damaged");
}

static int judge_result(struct rebuild *rebuild, struct log_reader *reader)
{
        int err = judge_end(rebuild, reader);

        if (!err)
                err = judge_rest(rebuild, reader);
        if (err)
                return err;
        rebuild->pages = replay_finish(rebuild->replay);
        return 0;
}

int rebuild_run(struct rebuild *rebuild)
{
        const struct manifest *manifest = rebuild->manifest;
        struct recovery *recovery = rebuild->recovery;
        struct log_reader *reader;
        int err = open_reader(rebuild, &reader);

        if (!err)
                err = replay_open(manifest->page_bytes, manifest->base_sequence, read_home, rebuild, &rebuild->replay);
        if (!err) {
                replay_ask(rebuild->replay, need_home);
                replay_pass_over(rebuild->replay, manifest->target_sequence, rebuild->listed, rebuild->listed_count);
                err = replay_all(rebuild, reader);
        }
        if (!err)
                err = judge_result(rebuild, reader);
        if (!err) {
                recovery->commits += replay_commits(rebuild->replay);
                recovery->pages += rebuild->pages;
                recovery->log_bytes += log_reader_end(reader) - manifest->redo_position;
                recovery->has_torn_tail = log_reader_has_torn_tail(reader);
                recovery->time_ns = log_reader_time(reader);
        }
        if (reader)
                log_reader_close(reader);
        return err;
}

int rebuild_find_strays(const struct rebuild *rebuild)
{
        struct log_damage damage;
        struct log_reader *reader;
        char where[WHERE_BYTES];
        int err = open_reader(rebuild, &reader);

        if (err)
                return err;
        log_reader_damage(reader, &damage);
        log_reader_close(reader);
        if (!damage.is_stray)
                return 0;
        name_place(where, damage.file_no, damage.offset, damage.position);
        return findings_add(rebuild->findings, "%s: %s", where, damage.what);
}

void rebuild_close(struct rebuild *rebuild)
{
        if (rebuild->replay)
                replay_close(rebuild->replay);
        rebuild->replay = NULL;
}
