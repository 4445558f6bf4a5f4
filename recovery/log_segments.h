/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_SEGMENTS_H
#define RECOVERY_LOG_SEGMENTS_H

/*
 * The segment files of the log: made ahead of use, filled with zeros and synced, so that an append is
 * one write without file-system metadata; found again by position; recycled.
 *
 * Zeros are for speed alone, and only committers that wait for the disk gain by them (135 against 260 us for a synced
 * append). While commits do not wait, new files are allocated and no more: their zeros would be as many bytes
 * again as the log has. What nobody has written reads as zeros then, too.
 *
 * A file is in use for one segment, or free. Which is which stands in shared memory (the table below) while
 * the environment is open, and in the headers of the files always. A header is on disk before the
 * segment is entered into the table, and the table before `limit` covers it.
 *
 * No two files ever claim the same segment, not even after a crash: the file that is being made into the
 * next segment is `pending` until the table has it; whoever finds one left over (its maker failed or
 * died) removes it, on disk, before another file gets that number.
 *
 * The table changes under its lock, each change such that it can be left at any step: at worst a file is in
 * neither list until the environment is opened anew. Entries of segments between `low` and
 * `limit` never change, so writers read them without the lock.
 *
 *      log_segments.c      extend, recycle, cut         log_segments_io.c   write and sync
 *      log_table.c         what is found at open
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/shlock.h"
#include "recovery/log_format.h"

struct log_segment_entry {
        _Atomic uint64_t segment_no; /* 0: none */
        _Atomic uint32_t file_no;    /* N of xac.log.N */
};

/* In shared memory. */
struct log_table {
        struct shlock lock;
        uint64_t segment_bytes;
        uint8_t uuid[16];
        _Atomic uint64_t limit;        /* segments exist for every position from `low` to here */
        _Atomic uint64_t low;          /* start of the oldest segment in use */
        _Atomic uint32_t next_file_no; /* never used so far */
        _Atomic uint32_t pending;      /* file_no: being made into the segment at `limit`; 0: none */
        _Atomic uint32_t haste;        /* 2 to the power of this: how many segments are to be made ahead of use */
        _Atomic uint64_t replacements; /* how often files have been replaced under their names (log_fence.h) */
        _Atomic uint32_t is_outrun;    /* the last write was not to be synced at once: new files are only allocated */
        /* What an archive does not have yet is not recycled (R33). While the archive takes nothing, the log grows up to
         * held_most bytes of that; then it does not grow any more, or (held_may_drop) the oldest half is given up. */
        _Atomic uint64_t held; /* segments that end behind this stay; 0: nobody holds any */
        uint64_t held_most;
        uint32_t held_may_drop;
        _Atomic int held_why; /* why the archive takes nothing, -errno; 0: it does */
        _Atomic uint32_t free_count;
        uint32_t free_file[LOG_SEGMENTS_MAX];
        struct log_segment_entry segment[LOG_SEGMENTS_MAX]; /* by segment number, modulo */
};

/* This process's half. The descriptors are used by one thread at a time (the leader, log_writer.h);
 * log_segments_extend and _recycle use none of them. They are of files that may be replaced: so a leader opens them
 * first, and then makes sure that the turn is still its own. If it is, whoever takes it replaces the files that are
 * open here (R30). */
enum { LOG_OPEN_FILES = 4 };

struct log_open_file {
        uint32_t file_no;      /* 0: none */
        uint64_t replacements; /* as there had been before it was opened */
        uint32_t last_use;
        int direct_fd; /* O_DIRECT | O_DSYNC; or why there is none (log_segments_io.c) */
        int fd;
};

struct log_segments {
        struct log_table *table;
        int directory;
        uint32_t mode;
        struct shlock_liveness liveness;
        const _Atomic uint64_t *turn; /* what is written only as long as this word is `mine`; NULL: always */
        uint64_t mine;
        /* What is open, for who asks without the right to use it: `ready_to` is the end of the last segment that a
         * committer had opened here. Closing anything takes it back (0), so it is never more than is open. */
        _Atomic uint64_t ready_to;
        _Atomic uint64_t ready_replacements; /* as there had been before */
        uint32_t use_count;
        struct log_open_file open[LOG_OPEN_FILES];
};

/* Offline, at creation of shared memory: looks at the files that are there, enters those that hold positions
 * in [from, to) for `uuid` and those ready behind them, takes older ones as free, and removes the rest. *table is
 * zeroed but for segment_bytes and uuid. Makes sure that there is a segment for position `to`, so that appends
 * can begin there. XAC_CORRUPT: a file is another environment's, or two claim the same segment, or one is missing;
 * XAC_FORMAT: another version's. Then, and whenever it fails, no file that was sound has been removed. */
int log_table_load(struct log_table *table, int directory, uint32_t mode, uint64_t from, uint64_t to);

void log_segments_init(struct log_segments *segments, struct log_table *table, int directory, uint32_t mode,
                       const struct shlock_liveness *liveness);
void log_segments_close(struct log_segments *segments);

static inline uint64_t log_segments_limit(const struct log_table *table)
{
        return atomic_load_explicit(&table->limit, memory_order_acquire);
}

/* How far ahead of use segments should be there: one segment, and twice as much with each time that somebody had to
 * wait for one, as commits that do not wait for the disk come quicker than files can be filled with zeros. */
enum { LOG_HASTE_MAX = 3 };

static inline uint64_t log_segments_ahead(const struct log_table *table)
{
        return table->segment_bytes << atomic_load_explicit(&table->haste, memory_order_relaxed);
}

static inline void log_segments_hurry(struct log_table *table)
{
        uint32_t haste = atomic_load_explicit(&table->haste, memory_order_relaxed);

        if (haste < LOG_HASTE_MAX)
                atomic_compare_exchange_strong(&table->haste, &haste, haste + 1);
}

/* Adds segments at the end, from free files or new ones, until positions below `wanted` are covered. On disk,
 * header and zeros (or the space for them), when it returns. `owner` is the caller's number for the lock. -ENOSPC,
 * -EMFILE, -EIO, ... */
int log_segments_extend(struct log_segments *segments, uint32_t owner, uint64_t wanted);
/* One more; the caller holds the lock. */
int log_segments_add_locked(struct log_segments *segments);
/* Writes the header of the segment at this position again and syncs it, whoever wrote it before. */
int log_segments_settle(struct log_segments *segments, uint64_t position);
/* Frees the files of segments that end at or below `redo`, and that nobody holds; keeps up to `keep_bytes` of free
 * files and removes the others. */
void log_segments_recycle(struct log_segments *segments, uint32_t owner, uint64_t redo, uint64_t keep_bytes);
/* For the last one to leave, when everything before `end` is home: of the files that nobody holds only the segment that
 * `end` is in stays, the next one, and a free file. -EIO, ...: a file that was removed may come back, and claim its
 * segment beside another. */
int log_segments_cut(struct log_segments *segments, uint32_t owner, uint64_t end);

/* Opens what a leader needs to write [from, to), before anybody depends on it (R38); closes nothing that is needed
 * behind `durable`. -EMFILE, -ENFILE, -EACCES, ... */
int log_segments_hold(struct log_segments *segments, uint64_t durable, uint64_t from, uint64_t to);
/* Is it open? For any thread. */
static inline bool log_segments_are_held(const struct log_segments *segments, uint64_t to)
{
        return to <= atomic_load_explicit(&segments->ready_to, memory_order_relaxed) &&
               atomic_load_explicit(&segments->ready_replacements, memory_order_relaxed) ==
                       atomic_load_explicit(&segments->table->replacements, memory_order_relaxed);
}

/* Puts bytes at [position, position + byte_len) into the files, which exist. Position, length and memory are
 * aligned to LOG_BLOCK. is_synced: on disk when it returns, by direct writes if possible. A failed sync is -EIO,
 * whatever the kernel calls it; -EMFILE, -ENFILE, -ENOMEM and -ENOSPC are never a sync's. LOG_OVERTAKEN: the
 * turn is not ours any more. */
int log_segments_write(struct log_segments *segments, uint64_t position, const void *bytes, uint64_t byte_len,
                       bool is_synced);
/* Syncs what earlier unsynced writes put into [from, to). Likewise. */
int log_segments_sync(struct log_segments *segments, uint64_t from, uint64_t to);

#endif
