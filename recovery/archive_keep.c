/* SPDX-License-Identifier: MIT */
#include "recovery/archive_keep.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/log_record.h"

/* In memory of its own: this may run in the background thread. */
struct keep {
        const struct archive *archive;
        const struct archive_source *source;
        struct archive_mark *mark;
        struct archive_part part;
        struct archive_files files;
        size_t memory_len;
        unsigned char bytes[]; /* a segment */
};

/* ---- Where it goes on ---- */

int archive_mark_find(const struct archive *archive, const struct archive_source *source, struct archive_mark *mark)
{
        const struct manifest_session *session = &source->session;
        struct archive_part newest;

        *mark = (struct archive_mark){ .position = session->position, .next_record = session->position };
        int err = archive_newest(archive->directory, &newest, mark->culprit);
        if (err != XAC_CORRUPT) /* what cannot be read now, or by this version, is sound all the same */
                mark->culprit[0] = 0;
        if (err)
                return err == -ENOENT ? 0 : err;
        if (memcmp(newest.uuid, source->manifest->uuid, sizeof(newest.uuid)) != 0 ||
            newest.session.incarnation > session->incarnation)
                return -EEXIST;
        if (newest.session.incarnation < session->incarnation)
                return 0;
        if (newest.session.time_ns != session->time_ns || newest.session.position != session->position)
                return -EEXIST;
        mark->position = newest.to;
        mark->next_record = newest.next_record;
        mark->last = newest.last;
        mark->time_ns = newest.last_ns;
        return 0;
}

/* ---- Looking through a part ---- */

/* The record at `position`, which begins in the part; its payload may go on behind it. */
static bool record_at(const struct keep *keep, uint64_t position, struct log_record *record)
{
        const struct archive_part *part = &keep->part;
        const unsigned char *bytes = keep->bytes + (position - part->from);
        unsigned char header[LOG_RECORD_HEADER];
        uint64_t there = part->to - position;

        /* Headers may cross segments, too. */
        memcpy(header, bytes, there < sizeof(header) ? there : sizeof(header));
        if (there < sizeof(header) &&
            keep->source->read(keep->source->arg, part->to, header + there, sizeof(header) - there))
                return false;
        if (!log_record_decode(header, record) || record->position != position ||
            record->incarnation != part->session.incarnation)
                return false;
        return record->byte_len > there || record->kind == LOG_PAD ||
               checksum_crc32c(0, bytes + LOG_RECORD_HEADER, record->payload_len) == record->payload_crc;
}

/* A merged record says in its payload which commits it stands for. */
static bool take_before(struct keep *keep, const struct log_record *record, uint64_t *before)
{
        const uint64_t at = record->position + LOG_RECORD_HEADER;
        unsigned char merged[LOG_MERGED_HEADER];

        *before = record->sequence - 1;
        if (record->kind != LOG_MERGED)
                return true;
        for (size_t i = 0; i < sizeof(merged); i++) { /* by bytes: the edge may lie anywhere */
                if (at + i < keep->part.to)
                        merged[i] = keep->bytes[at + i - keep->part.from];
                else if (keep->source->read(keep->source->arg, at + i, &merged[i], 1))
                        return false;
        }
        return log_merged_base(merged, sizeof(merged), before);
}

static void take_time(struct archive_part *part, const struct log_record *pad)
{
        const uint64_t clock_ns = log_pad_clock(pad);

        if (!part->first_ns)
                part->first_ns = pad->sequence;
        part->last_ns = pad->sequence;
        if (!part->earliest_ns || clock_ns < part->earliest_ns)
                part->earliest_ns = clock_ns;
        if (log_pad_back(pad) > part->back_ns)
                part->back_ns = log_pad_back(pad);
}

static bool take_record(struct keep *keep, const struct log_record *record)
{
        struct archive_part *part = &keep->part;
        uint64_t before;

        if (record->kind == LOG_PAD && record->sequence)
                take_time(part, record);
        if (record->kind != LOG_COMMIT && record->kind != LOG_MERGED)
                return true;
        if (!take_before(keep, record, &before))
                return false;
        if (!part->last)
                part->before = before;
        part->last = record->sequence;
        if (record->transaction && record->transaction < part->oldest)
                part->oldest = record->transaction;
        return true;
}

/* After a gap: groups begin at blocks. Records do not overlap, whether they are damaged or not: where they would, in
 * all that was looked at, somebody has written a header into each block, and none of them is one. */
static bool find_record(struct keep *keep)
{
        const uint64_t most = keep->part.to - keep->part.from + LOG_RECORD_MAX;
        uint64_t looked_at = 0;

        for (uint64_t at = keep->part.from; at < keep->part.to && looked_at <= most; at += LOG_BLOCK) {
                struct log_record record = { .payload_len = 0 };

                if (record_at(keep, at, &record)) {
                        keep->part.first_record = at;
                        return true;
                }
                if (record.position == at && record.kind != LOG_PAD)
                        looked_at += record.payload_len;
        }
        return false;
}

/* 0; -ENOENT: behind a gap, and there is no beginning; XAC_CORRUPT: no record stands where one should. The log's end is
 * no such place. */
static int look_through(struct keep *keep, bool is_end)
{
        struct archive_part *part = &keep->part;
        struct log_record record;
        uint64_t at;

        part->first_record = keep->mark->next_record;
        if (part->first_record < part->from && !find_record(keep))
                return -ENOENT;
        part->oldest = part->first_record;
        for (at = part->first_record; at < part->to; at += record.byte_len)
                if (!record_at(keep, at, &record) || !take_record(keep, &record)) {
                        if (!is_end || log_round_up(at) != part->to)
                                return XAC_CORRUPT;
                        at = part->to;
                        break;
                }
        part->next_record = at;
        return 0;
}

/* ---- Parts ---- */

static void list_files(struct keep *keep)
{
        const struct manifest *manifest = keep->source->manifest;

        keep->files.count = manifest->file_count;
        for (uint32_t i = 0; i < manifest->file_count; i++) {
                struct archive_file *file = &keep->files.file[i];
                struct stat st;

                memcpy(file->name, manifest->file_name[i], sizeof(file->name));
                file->place = manifest->file_place[i];
                file->byte_len = 0;
                if (!sys_stat_at(keep->source->directory, file->name, &st))
                        file->byte_len = (uint64_t)st.st_size;
        }
}

/* R36. Where the log was damaged, and that was given up, there are no records: a gap, as where a segment is missing. */
static bool was_given_up(const struct archive_source *source)
{
        return source->manifest->history != source->session.history;
}

static int keep_part(struct keep *keep, uint64_t to, bool is_end)
{
        const struct archive_source *source = keep->source;
        const struct manifest *manifest = source->manifest;
        struct archive_mark *mark = keep->mark;

        keep->part = (struct archive_part){ .segment_bytes = manifest->segment_bytes,
                                            .page_bytes = manifest->page_bytes,
                                            .from = mark->position,
                                            .to = to,
                                            .session = source->session };
        memcpy(keep->part.uuid, manifest->uuid, sizeof(keep->part.uuid));
        int err = source->read(source->arg, mark->position, keep->bytes, to - mark->position);
        if (!err)
                err = look_through(keep, is_end);
        if (err == -ENOENT || (err == XAC_CORRUPT && was_given_up(source))) { /* a gap */
                mark->next_record = 0;
                mark->position = to;
                return 0;
        }
        if (!err)
                err = archive_put(keep->archive, &keep->part, &keep->files, keep->bytes);
        if (err)
                return err;
        *mark = (struct archive_mark){ .position = to,
                                       .next_record = keep->part.next_record,
                                       .last = keep->part.last ? keep->part.last : mark->last,
                                       .time_ns = keep->part.last_ns ? keep->part.last_ns : mark->time_ns };
        return 0;
}

/* What is missing is passed over in one step, however much that is by the manifest's positions. */
static void skip_missing(const struct archive_source *source, uint64_t to, struct archive_mark *mark)
{
        uint64_t there;

        if (!source->skip || mark->position >= to)
                return;
        there = source->skip(source->arg, mark->position);
        if (there == mark->position)
                return;
        mark->position = there < to ? there : to;
        mark->next_record = 0;
}

int archive_keep(const struct archive *archive, const struct archive_source *source, uint64_t to, bool has_tail,
                 struct archive_mark *mark)
{
        const uint64_t segment_bytes = source->manifest->segment_bytes;
        void *memory;
        int err = sys_mmap(NULL, sizeof(struct keep) + segment_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &memory);

        if (err)
                return err;
        struct keep *keep = memory;
        keep->archive = archive;
        keep->source = source;
        keep->mark = mark;
        list_files(keep);
        for (skip_missing(source, to, mark); !err && mark->position < to; skip_missing(source, to, mark)) {
                uint64_t end = (mark->position / segment_bytes + 1) * segment_bytes;

                if (end > to && !has_tail)
                        break;
                err = keep_part(keep, end < to ? end : to, end >= to && has_tail);
        }
        sys_munmap(memory, sizeof(struct keep) + segment_bytes);
        return err;
}
