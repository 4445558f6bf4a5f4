/* SPDX-License-Identifier: MIT */

#include "labs/recovery/log.h"

#include <string.h>

_Static_assert(sizeof(struct record) == RECORD_BYTES && RECORD_BYTES % SECTOR_BYTES == 0, "a record is whole sectors");
_Static_assert(sizeof(struct manifest) == SECTOR_BYTES, "a slot of the manifest is a sector");
_Static_assert(LOG_BYTES % RECORD_BYTES == 0, "no record crosses the end of the file");

/* FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), over all but the first four bytes, which hold it. A real log takes a CRC.
 */
static uint32_t checksum_of(const void *block, size_t byte_len)
{
        const uint8_t *bytes = block;
        uint32_t sum = 2166136261U;
        for (size_t i = sizeof(sum); i < byte_len; i++)
                sum = (sum ^ bytes[i]) * 16777619U;
        return sum;
}

/* ------------------------------------------------------------------ records */

uint32_t record_checksum(const struct record *record)
{
        return checksum_of(record, sizeof(*record));
}

void record_read(const struct log *log, uint64_t position, struct record *record)
{
        disk_read(log->disk, DISK_LOG, position % LOG_BYTES, record, sizeof(*record));
}

void record_apply(struct log *log, const struct record *record)
{
        for (uint64_t i = 0; i < record->count && i < CHANGES_MOST; i++) {
                const struct change *change = &record->change[i];
                if (change->word >= WORDS)
                        continue;
                /* as unsigned: of a record that is garbage the sum may overflow */
                int64_t *word = &log->page[change->word / PAGE_WORDS][change->word % PAGE_WORDS];
                *word = (int64_t)((uint64_t)*word + (uint64_t)change->add);
                log->is_dirty[change->word / PAGE_WORDS] = true;
        }
}

int log_append(struct log *log, const struct change *change, int count)
{
        struct record record = {
                .incarnation = log->incarnation,
                .position = log->end,
                .sequence = log->sequence + 1,
                .count = (uint64_t)count,
        };
        if (log->end + RECORD_BYTES - log->redo > LOG_BYTES)
                return LOG_FULL;
        memcpy(record.change, change, (size_t)count * sizeof(*change));
        record.checksum = record_checksum(&record);
        disk_write(log->disk, DISK_LOG, log->end % LOG_BYTES, &record, sizeof(record));
        record_apply(log, &record);
        log->end += RECORD_BYTES;
        log->sequence++;
        return 0;
}

void log_sync(struct log *log)
{
        disk_sync(log->disk, DISK_LOG);
}

/* ------------------------------------------------------------------ pages */

void page_write(struct log *log, enum disk_file file, int page)
{
        disk_write(log->disk, file, (size_t)page * PAGE_BYTES, log->page[page], PAGE_BYTES);
}

void page_read(struct log *log, enum disk_file file, int page)
{
        disk_read(log->disk, file, (size_t)page * PAGE_BYTES, log->page[page], PAGE_BYTES);
}

/* ------------------------------------------------------------------ the manifest */

bool manifest_read(struct log *log)
{
        bool is_there = false;
        for (size_t slot = 0; slot < MANIFEST_SECTORS; slot++) {
                struct manifest found;
                disk_read(log->disk, DISK_MANIFEST, slot * SECTOR_BYTES, &found, sizeof(found));
                if (found.checksum != checksum_of(&found, sizeof(found)))
                        continue;
                if (!is_there || found.generation > log->manifest.generation)
                        log->manifest = found;
                is_there = true;
        }
        return is_there;
}

void manifest_write(struct log *log, struct manifest manifest)
{
        manifest.generation = log->manifest.generation + 1;
        manifest.checksum = checksum_of(&manifest, sizeof(manifest));
        disk_write(log->disk, DISK_MANIFEST, (size_t)(manifest.generation % MANIFEST_SECTORS) * SECTOR_BYTES, &manifest,
                   sizeof(manifest));
        log->manifest = manifest;
}

void log_format(struct disk *disk)
{
        struct log log = { .disk = disk };
        memset(disk, 0, sizeof(*disk));
        manifest_write(&log, (struct manifest){ .incarnation = 1 });
}
