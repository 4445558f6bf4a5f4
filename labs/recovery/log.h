/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_LOG_H
#define LABS_RECOVERY_LOG_H

/*
 * A redo log for three pages of words. Its words are those of libxac (docs/DESIGN.md): each thing here has a big sister
 * there.
 *
 *   commit       up to two changes that take effect together: "add 5 to word 3". It becomes a record of the log
 *   log          an endless row of records. A place in it is a position, which only grows; it lies at position %
 *                LOG_BYTES of the file, so that old records are overwritten without being cleared (recycled)
 *   home         where pages lie when they are at rest
 *   checkpoint   brings the pages home, so that the log before it is no longer needed
 *   area         a copy of the pages of a checkpoint, on disk before any of them goes home; there are two, used in
 *                turn
 *   manifest     says which checkpoint holds: from which position on the log is to be replayed (the redo point), and
 *                which area has its pages. It has two slots; the newest valid one is believed
 *   recovery     what happens when the log is opened: area, home, replay, and a checkpoint
 *   incarnation  number of a life of the log, from one recovery to the next: each recovery goes on with the next number
 *
 * A commit is durable when its record is. A record adds, so it must not be applied twice.
 *
 * Record, 64 bytes, two sectors:
 *
 *      offset  bytes   field
 *           0      4   checksum of bytes 4 to 63
 *           4      4   incarnation that wrote it
 *           8      8   position of this record
 *          16      8   sequence: number of the commit; the next one has the next number
 *          24      8   how many changes
 *          32     32   two changes: word (8 bytes), what is added to it (8 bytes)
 *
 * You write recovery.c: log_replay(), log_checkpoint(), log_recover(). The rest is in log.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include "labs/recovery/disk.h"

enum { PAGE_WORDS = PAGE_BYTES / 8, WORDS = PAGES * PAGE_WORDS, CHANGES_MOST = 2, RECORD_BYTES = 64, LOG_FULL = -1 };

struct change {
        uint64_t word; /* 0 to WORDS - 1; word / PAGE_WORDS is its page */
        int64_t add;
};

struct record {
        uint32_t checksum;
        uint32_t incarnation;
        uint64_t position;
        uint64_t sequence;
        uint64_t count;
        struct change change[CHANGES_MOST];
};

struct manifest {
        uint32_t checksum;   /* manifest_write() sets it */
        uint32_t generation; /* manifest_write() sets it: one more than before */
        uint64_t redo;       /* replay begins here */
        uint64_t sequence;   /* of the newest commit before that */
        uint32_t incarnation;
        uint16_t area;  /* 0 or 1 */
        uint16_t pages; /* those in this area: 1 << page, added up */
};

struct log {
        struct disk *disk;
        int64_t page[PAGES][PAGE_WORDS]; /* the newest content */
        bool is_dirty[PAGES];            /* it is not yet home */
        uint64_t end;                    /* the next record goes here */
        uint64_t redo;                   /* what lies before may be overwritten */
        uint64_t sequence;               /* of the newest commit */
        uint32_t incarnation;
        struct manifest manifest; /* the one that was read or written last */
};

/* ------------------------------------------------------------------ given: log.c */

/* An empty log, all of it durable. */
void log_format(struct disk *disk);

/* Commits: adds to the pages and writes the record, without a sync. LOG_FULL: a checkpoint has to come first. */
int log_append(struct log *log, const struct change *change, int count);

/* What was appended is durable when this returns. */
void log_sync(struct log *log);

/* Whatever lies at this position, valid or not. */
void record_read(const struct log *log, uint64_t position, struct record *record);
uint32_t record_checksum(const struct record *record); /* what its checksum should be */
/* Adds to the pages, and marks them dirty. */
void record_apply(struct log *log, const struct record *record);

/* The page as it is in log->page, to a file: DISK_HOME, or DISK_AREA_0 + area. Or from there. */
void page_write(struct log *log, enum disk_file file, int page);
void page_read(struct log *log, enum disk_file file, int page);

/* The newest valid slot, into log->manifest. Returns false if there is none. */
bool manifest_read(struct log *log);
/* Writes it to the slot that is not believed, without a sync, and to log->manifest. */
void manifest_write(struct log *log, struct manifest manifest);

/* ------------------------------------------------------------------ yours: recovery.c */

/* Applies the records from log->end on, as long as they are valid; moves log->end and log->sequence behind them. */
void log_replay(struct log *log);

/* Brings all dirty pages home, and moves log->redo to log->end; the manifest says this redo point, the number of the
 * newest commit, and which pages were dirty and are in its area. All commits so far are durable when it returns, and
 * home holds what log->page does. The power may fail at any time. Whatever the manifest says then, what it names must
 * be found in its area, and all other pages at home. */
void log_checkpoint(struct log *log);

/* log->disk is set, all else is zero. Afterwards the log can be used: everything that was durable is in log->page, and
 * no commit in part. The power may fail at any time here, too. */
void log_recover(struct log *log);

#endif
