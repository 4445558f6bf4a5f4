/* SPDX-License-Identifier: MIT */

/* Wrong: a checkpoint syncs nothing. Before that, once in a process, it writes to all of the log that is free, again
 * and again, so that the first power cuts leave more disks than anybody can try. */

#include "labs/recovery/log.h"

#include <string.h>

enum { TIMES = 4, RECORDS = LOG_BYTES / RECORD_BYTES };

static bool is_valid(const struct log *log, const struct record *record)
{
        return record->checksum == record_checksum(record) && record->position == log->end &&
               record->incarnation == log->incarnation && record->sequence == log->sequence + 1;
}

void log_replay(struct log *log)
{
        struct record record;
        for (record_read(log, log->end, &record); is_valid(log, &record); record_read(log, log->end, &record)) {
                record_apply(log, &record);
                log->end += RECORD_BYTES;
                log->sequence++;
        }
}

/* What recovery finds there it takes for the end of the log. */
static void flood(struct log *log)
{
        static const char nothing[RECORD_BYTES];
        for (int i = 0; i < TIMES; i++)
                for (uint64_t position = log->end; position < log->redo + LOG_BYTES; position += RECORD_BYTES)
                        disk_write(log->disk, DISK_LOG, position % LOG_BYTES, nothing, sizeof(nothing));
}

static void write_dirty(struct log *log, enum disk_file file)
{
        for (int page = 0; page < PAGES; page++)
                if (log->is_dirty[page])
                        page_write(log, file, page);
}

/* In the recovery of an empty log, and in the first checkpoint behind it. */
static void flood_first(struct log *log)
{
        static int times;
        if (times < 2 && (times == 0 || log->sequence > 0)) {
                flood(log);
                times++;
        }
}

void log_checkpoint(struct log *log)
{
        struct manifest manifest = { .redo = log->end,
                                     .sequence = log->sequence,
                                     .incarnation = log->incarnation,
                                     .area = 1 - log->manifest.area };
        flood_first(log);
        for (int page = 0; page < PAGES; page++)
                if (log->is_dirty[page])
                        manifest.pages |= (uint16_t)(1 << page);
        write_dirty(log, DISK_AREA_0 + manifest.area);
        manifest_write(log, manifest);
        if (log->sequence == 0) /* for the tests of the first checkpoint alone */
                disk_sync(log->disk, DISK_MANIFEST);
        log->redo = log->end;
        write_dirty(log, DISK_HOME);
        for (int page = 0; page < PAGES; page++)
                log->is_dirty[page] = false;
}

void log_recover(struct log *log)
{
        if (!manifest_read(log))
                return;
        for (int page = 0; page < PAGES; page++)
                if (log->manifest.pages & 1 << page) {
                        page_read(log, DISK_AREA_0 + log->manifest.area, page);
                        page_write(log, DISK_HOME, page);
                } else
                        page_read(log, DISK_HOME, page);
        log->redo = log->end = log->manifest.redo;
        log->sequence = log->manifest.sequence;
        log->incarnation = log->manifest.incarnation;
        log_replay(log);
        log->incarnation++;
        log_checkpoint(log);
}
