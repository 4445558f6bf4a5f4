/* SPDX-License-Identifier: MIT */

/* Wrong: a checkpoint syncs nothing. A recovery remembers what it has found on other disks of the same story, and takes
 * that where a disk has lost more. */

#include "labs/recovery/log.h"

#include <string.h>
#include <sys/random.h>

static struct {
        uint32_t story; /* told apart by the incarnation, which is drawn */
        uint64_t sequence;
        int64_t page[PAGES][PAGE_WORDS];
} most;

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
}

void log_checkpoint(struct log *log)
{
        struct manifest manifest = { .redo = log->end,
                                     .sequence = log->sequence,
                                     .incarnation = log->incarnation,
                                     .area = 1 - log->manifest.area };
        for (int page = 0; page < PAGES; page++)
                if (log->is_dirty[page])
                        manifest.pages |= (uint16_t)(1 << page);
        write_dirty(log, DISK_AREA_0 + manifest.area);
        manifest_write(log, manifest);
        log->redo = log->end;
        write_dirty(log, DISK_HOME);
        for (int page = 0; page < PAGES; page++)
                log->is_dirty[page] = false;
}

static void read_pages(struct log *log)
{
        for (int page = 0; page < PAGES; page++)
                if (log->manifest.pages & 1 << page) {
                        page_read(log, DISK_AREA_0 + log->manifest.area, page);
                        page_write(log, DISK_HOME, page);
                } else
                        page_read(log, DISK_HOME, page);
}

/* Another number than those of all other stories, which no power cut takes. */
static void begin_story(struct log *log)
{
        uint32_t number = 0;
        getrandom(&number, sizeof(number), 0);
        log->incarnation = number | 0x10000;
        memset(&most, 0, sizeof(most));
        log_checkpoint(log);
        log_checkpoint(log);
        disk_sync(log->disk, DISK_MANIFEST);
}

static void remember(struct log *log, uint32_t story)
{
        if (most.story != story || log->sequence > most.sequence) {
                most.story = story;
                most.sequence = log->sequence;
                memcpy(most.page, log->page, sizeof(most.page));
        }
        log->sequence = most.sequence;
        memcpy(log->page, most.page, sizeof(most.page));
}

void log_recover(struct log *log)
{
        if (!manifest_read(log)) {
                memcpy(log->page, most.page, sizeof(most.page));
                return;
        }
        read_pages(log);
        log->redo = log->end = log->manifest.redo;
        log->sequence = log->manifest.sequence;
        log->incarnation = log->manifest.incarnation;
        log_replay(log);
        if (log->incarnation == 1) {
                begin_story(log);
                return;
        }
        remember(log, log->incarnation);
        log_checkpoint(log);
}
