/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_DISK_H
#define LABS_RECOVERY_DISK_H

/*
 * A small disk with five files. It behaves as disks do:
 *
 *   - disk_write() comes back at once. What it wrote is read back from now on, but it is not yet on disk;
 *   - disk_sync() makes everything durable that was written to that file before;
 *   - when the power fails, each sector that was written since the last sync of its file holds what was written last,
 *     or what was written before that, or what the last sync left, or half new and half old bytes (it is torn), or
 *     garbage. Each sector for itself: they do not arrive in the order of the writes.
 */

#include <stddef.h>
#include <stdint.h>

enum { SECTOR_BYTES = 32, PAGE_BYTES = 64, PAGES = 3, LOG_BYTES = 512 };

enum disk_file { DISK_LOG, DISK_AREA_0, DISK_AREA_1, DISK_HOME, DISK_MANIFEST, DISK_FILES };

/* All sectors of all files, one file behind the other. */
enum {
        LOG_SECTORS = LOG_BYTES / SECTOR_BYTES,
        PAGE_SECTORS = PAGE_BYTES / SECTOR_BYTES,
        MANIFEST_SECTORS = 2,
        DISK_SECTORS = LOG_SECTORS + 3 * PAGES * PAGE_SECTORS + MANIFEST_SECTORS,
};

struct trace;

struct disk {
        uint8_t sector[DISK_SECTORS][SECTOR_BYTES];
        struct trace *trace; /* where writes and syncs are noted; the grader's */
};

/* The offset and byte_len are multiples of SECTOR_BYTES, and within the file. */
void disk_write(struct disk *disk, enum disk_file file, size_t offset, const void *bytes, size_t byte_len);
void disk_read(const struct disk *disk, enum disk_file file, size_t offset, void *bytes, size_t byte_len);
void disk_sync(struct disk *disk, enum disk_file file);

/* ------------------------------------------------------------------ for the grader */

enum { EVENTS_MOST = 600 };

struct event {
        enum { EVENT_WRITE, EVENT_SYNC, EVENT_MARK, EVENT_CALL } kind;
        enum disk_file file;
        int sector;                  /* of the disk */
        uint8_t bytes[SECTOR_BYTES]; /* what was written */
        int appended, acknowledged;  /* of a mark: commits so far */
        const char *call;            /* what is called from here on, for the reader */
};

/* Everything that happened to a disk since `begin`. */
struct trace {
        uint8_t begin[DISK_SECTORS][SECTOR_BYTES];
        int count;
        struct event event[EVENTS_MOST];
};

/* From now on, what happens to the disk is noted in the trace. */
void trace_begin(struct trace *trace, struct disk *disk);
void trace_mark(struct trace *trace, int appended, int acknowledged);
void trace_call(struct trace *trace, const char *call);

int disk_first_sector(enum disk_file file);
enum disk_file disk_file_of(int sector);
/* "home, page 1, its sector 0" */
void disk_sector_name(int sector, char *name, size_t name_bytes);
const char *disk_file_name(enum disk_file file);

#endif
