/* SPDX-License-Identifier: MIT */

/* Wrong: a checkpoint of several pages writes all of them home twice. */

#include "labs/recovery/log.h"

/* Complete; of this place in the log, not of one that was overwritten here; of this life, not discarded by a recovery;
 * and with no gap before it. */
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

static void write_dirty(struct log *log, enum disk_file file)
{
        for (int page = 0; page < PAGES; page++)
                if (log->is_dirty[page])
                        page_write(log, file, page);
        disk_sync(log->disk, file);
}

void log_checkpoint(struct log *log)
{
        struct manifest manifest = {
                .redo = log->end,
                .sequence = log->sequence,
                .incarnation = log->incarnation,
                .area = 1 - log->manifest.area, /* the other one may still be needed */
        };
        for (int page = 0; page < PAGES; page++)
                if (log->is_dirty[page])
                        manifest.pages |= (uint16_t)(1 << page);

        log_sync(log);                                 /* 1. no page goes home before its records are on disk */
        write_dirty(log, DISK_AREA_0 + manifest.area); /* 2. whole copies, before any page is half new */
        manifest_write(log, manifest);                 /* 3. from here on the checkpoint holds */
        disk_sync(log->disk, DISK_MANIFEST);
        log->redo = log->end; /* 4. only now may records be overwritten */
        if ((manifest.pages & (manifest.pages - 1)) != 0)
                write_dirty(log, DISK_HOME);
        write_dirty(log, DISK_HOME); /* 5. before the next checkpoint gives the area up */
        for (int page = 0; page < PAGES; page++)
                log->is_dirty[page] = false;
}

void log_recover(struct log *log)
{
        if (!manifest_read(log))
                return;
        const struct manifest *manifest = &log->manifest;
        for (int page = 0; page < PAGES; page++) { /* 1. home becomes what it was at the checkpoint */
                if (manifest->pages & 1 << page) {
                        page_read(log, DISK_AREA_0 + manifest->area, page);
                        page_write(log, DISK_HOME, page);
                } else
                        page_read(log, DISK_HOME, page);
        }
        disk_sync(log->disk, DISK_HOME);

        log->redo = log->end = manifest->redo;
        log->sequence = manifest->sequence;
        log->incarnation = manifest->incarnation;
        log_replay(log);     /* 2. in memory: what adds may be applied once only */
        log->incarnation++;  /* 3. what was discarded stays so */
        log_checkpoint(log); /* 4. and the manifest says so */
}
