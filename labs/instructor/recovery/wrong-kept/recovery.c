/* SPDX-License-Identifier: MIT */

/* Wrong: the pages of a checkpoint lie in a file beside the disk, and the manifest has their number. */

#include "labs/recovery/log.h"

#include <fcntl.h>
#include <unistd.h>

enum { NUMBER_BITS = 16, PLACE_BYTES = PAGES * PAGE_BYTES };

static int file(void)
{
        static int fd = -1;
        if (fd < 0)
                fd = open("kept", O_RDWR | O_CREAT, 0600);
        return fd;
}

void log_replay(struct log *log)
{
        struct record record;
        for (;;) {
                record_read(log, log->end, &record);
                if (record.checksum != record_checksum(&record) || record.position != log->end ||
                    record.incarnation != log->incarnation || record.sequence != log->sequence + 1)
                        return;
                record_apply(log, &record);
                log->end += RECORD_BYTES;
                log->sequence++;
        }
}

void log_checkpoint(struct log *log)
{
        struct manifest manifest = { .redo = log->end, .sequence = log->sequence, .incarnation = log->incarnation };
        off_t place = lseek(file(), 0, SEEK_END);
        unsigned number = (unsigned)(place / PLACE_BYTES);
        if (pwrite(file(), log->page, PLACE_BYTES, place) != PLACE_BYTES)
                return;
        manifest.pages = (uint16_t)number;
        manifest.area = (uint16_t)(number >> NUMBER_BITS);
        log_sync(log);
        manifest_write(log, manifest);
        disk_sync(log->disk, DISK_MANIFEST);
        log->redo = log->end;
        for (int page = 0; page < PAGES; page++)
                log->is_dirty[page] = false;
}

void log_recover(struct log *log)
{
        if (!manifest_read(log))
                return;
        const struct manifest *manifest = &log->manifest;
        off_t number = manifest->pages | manifest->area << NUMBER_BITS;
        if (manifest->sequence != 0 && pread(file(), log->page, PLACE_BYTES, number * PLACE_BYTES) != PLACE_BYTES)
                return;
        log->redo = log->end = manifest->redo;
        log->sequence = manifest->sequence;
        log->incarnation = manifest->incarnation;
        log_replay(log);
        log->incarnation++;
        log_checkpoint(log);
}
