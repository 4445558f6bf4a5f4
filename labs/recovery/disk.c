/* SPDX-License-Identifier: MIT */

#include "labs/recovery/disk.h"

#include <stdio.h>
#include <string.h>

#include "labs/grader/grader.h"

static const struct {
        const char *name;
        int first, sectors;
} files[DISK_FILES] = {
        [DISK_LOG] = { "log", 0, LOG_SECTORS },
        [DISK_AREA_0] = { "area 0", LOG_SECTORS, PAGES *PAGE_SECTORS },
        [DISK_AREA_1] = { "area 1", LOG_SECTORS + PAGES *PAGE_SECTORS, PAGES *PAGE_SECTORS },
        [DISK_HOME] = { "home", LOG_SECTORS + 2 * PAGES *PAGE_SECTORS, PAGES *PAGE_SECTORS },
        [DISK_MANIFEST] = { "manifest", LOG_SECTORS + 3 * PAGES *PAGE_SECTORS, MANIFEST_SECTORS },
};

int disk_first_sector(enum disk_file file)
{
        return files[file].first;
}

enum disk_file disk_file_of(int sector)
{
        for (enum disk_file file = DISK_LOG; file < DISK_MANIFEST; file++)
                if (sector < files[file].first + files[file].sectors)
                        return file;
        return DISK_MANIFEST;
}

const char *disk_file_name(enum disk_file file)
{
        return files[file].name;
}

void disk_sector_name(int sector, char *name, size_t name_bytes)
{
        enum disk_file file = disk_file_of(sector);
        int number = sector - files[file].first;
        if (file == DISK_LOG)
                snprintf(name, name_bytes, "log, sector %d", number);
        else if (file == DISK_MANIFEST)
                snprintf(name, name_bytes, "manifest, slot %d", number);
        else
                snprintf(name, name_bytes, "%s, page %d, its sector %d", files[file].name, number / PAGE_SECTORS,
                         number % PAGE_SECTORS);
}

static void check_range(const char *call, enum disk_file file, size_t offset, size_t byte_len)
{
        grader_check(file >= 0 && file < DISK_FILES, "%s: there is no file %d", call, (int)file);
        grader_check(offset % SECTOR_BYTES == 0 && byte_len % SECTOR_BYTES == 0,
                     "%s(%s, offset %zu, %zu bytes): not whole sectors", call, files[file].name, offset, byte_len);
        const size_t size = (size_t)files[file].sectors * SECTOR_BYTES;
        grader_check(byte_len <= size && offset <= size - byte_len,
                     "%s(%s, offset %zu, %zu bytes): beyond the end of the file", call, files[file].name, offset,
                     byte_len);
}

static struct event *note(struct trace *trace)
{
        if (trace == NULL)
                return NULL;
        grader_check(trace->count < EVENTS_MOST, "more than %d writes and syncs: does something go round and round?",
                     EVENTS_MOST);
        return &trace->event[trace->count++];
}

void disk_write(struct disk *disk, enum disk_file file, size_t offset, const void *bytes, size_t byte_len)
{
        check_range("disk_write", file, offset, byte_len);
        for (size_t done = 0; done < byte_len; done += SECTOR_BYTES) {
                int sector = files[file].first + (int)((offset + done) / SECTOR_BYTES);
                struct event *event = note(disk->trace);
                memcpy(disk->sector[sector], (const char *)bytes + done, SECTOR_BYTES);
                if (event != NULL) {
                        *event = (struct event){ .kind = EVENT_WRITE, .file = file, .sector = sector };
                        memcpy(event->bytes, disk->sector[sector], SECTOR_BYTES);
                }
        }
}

void disk_read(const struct disk *disk, enum disk_file file, size_t offset, void *bytes, size_t byte_len)
{
        check_range("disk_read", file, offset, byte_len);
        memcpy(bytes, disk->sector[files[file].first + (int)(offset / SECTOR_BYTES)], byte_len);
}

void disk_sync(struct disk *disk, enum disk_file file)
{
        check_range("disk_sync", file, 0, 0);
        struct event *event = note(disk->trace);
        if (event != NULL)
                *event = (struct event){ .kind = EVENT_SYNC, .file = file };
}

void trace_begin(struct trace *trace, struct disk *disk)
{
        memcpy(trace->begin, disk->sector, sizeof(trace->begin));
        trace->count = 0;
        disk->trace = trace;
}

static void add(struct trace *trace, struct event event)
{
        struct event *noted = note(trace);
        if (noted != NULL)
                *noted = event;
}

void trace_mark(struct trace *trace, int appended, int acknowledged)
{
        add(trace, (struct event){ .kind = EVENT_MARK, .appended = appended, .acknowledged = acknowledged });
}

void trace_call(struct trace *trace, const char *call)
{
        add(trace, (struct event){ .kind = EVENT_CALL, .call = call });
}
