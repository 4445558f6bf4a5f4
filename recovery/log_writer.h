/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_WRITER_H
#define RECOVERY_LOG_WRITER_H

/*
 * Appending to the log, and group commit.
 *
 * Records are staged in a ring of shared memory under a lock of the host (libxac: the commit lock), and
 * exist once `end` covers them. Whoever finds no write in flight becomes the leader and writes all
 * that is staged as one group; the others sleep until the durable position covers what they wait for, and
 * while one group is being written the next one fills.
 *
 *      ring   | free ... | closed group, being written | staged | free ... |
 *                     written                          ^       end
 *                                                   closed
 *
 * The log knows no transactions. Its host brings the lock under which records are staged, and a mark that
 * belongs to the end of a group and is handed back when the group is durable (R9).
 *
 * R6   The leader writes only up to `end`, as it was under the host's lock, and fills what its last
 *      block has left with a pad, then moves `end` behind it, all before it gives up the lock.
 * R12  The durable position is stored before a futex word is bumped; waiters read the words before they test;
 *      every wait is timed and asks whether the leader lives, and whether the same turn has taken too long; poison is
 *      stored before waking. A leader's local failure (-EMFILE, -ENOMEM) hands leadership on and does not poison, nor
 *      does any failure of one that was overtaken.
 * R38  Who commits and waits has the segment at the log's end open before the record is staged, as seen under the lock.
 * R30  A leader looks at its turn after it has opened what it writes to, and says that its group is durable only when
 *      the turn has become `finishing`, which only it can do. What is said then only moves forward: it may be said
 *      late, and by others.
 * R31  Who takes the turn from somebody alive puts new files in the place of those that may still be written to,
 *      before it writes itself. That this is still to be done stands in the turn, whoever has it.
 * R34  Such a file is made before the turn is looked at for the last time, and those of earlier turns are removed
 *      before it gets its name.
 * R43  A record is staged only where the ring has memory. Somebody gives it memory, further ahead each time, and
 *      then says so; memory is given once more when he dies between.
 * I10  A sector with durable bytes is never written again.
 *
 * A group that is written without a sync ("pushed") makes room in the ring and nothing else: it is closed for
 * nobody, and the next synced group syncs it too.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xac/xac.h>

#include "base/shlock.h"
#include "recovery/log_record.h"
#include "recovery/log_segments.h"
#include "recovery/log_turn.h"

enum {
        LOG_CACHE_LINE = 64,
        LOG_PAD_MAX = 2 * LOG_BLOCK, /* at most so much ends a group, with some to spare */
        LOG_RING_FIRST = 16 << 10    /* bytes of the ring that have memory from the start */
};

/* A ring that is shorter has all of its memory from the start. */
static inline uint64_t log_ring_first(uint64_t ring_bytes)
{
        return ring_bytes < LOG_RING_FIRST ? ring_bytes : LOG_RING_FIRST;
}

/* In shared memory; the ring follows in memory of its own. */
struct log_shared {
        uint64_t ring_bytes;         /* a power of two, more than LOG_PAD_MAX */
        uint64_t ring_base;          /* the position that stands at the ring's beginning */
        _Atomic uint64_t ring_ready; /* so many of its bytes have memory (R43); it only grows */
        uint32_t incarnation;

        /* Changed under the host's lock. */
        _Alignas(LOG_CACHE_LINE) _Atomic uint64_t end; /* of what is staged */
        uint64_t padded;                               /* where the last group's pad ends */
        _Atomic uint64_t records;                      /* staged so far: a hint */
        _Atomic uint64_t record_bytes;                 /* and their lengths */
        _Atomic uint64_t time_ns; /* of the last group that was closed, or when the session began */

        /* Changed by the leader. */
        _Alignas(LOG_CACHE_LINE) _Atomic uint64_t written; /* in the files, perhaps not synced: its room is free */
        _Atomic uint64_t durable;
        _Atomic uint64_t closed;       /* end of the last group that is or was to be synced, and its parity (bit 0) */
        _Atomic int poison;            /* 0, or why: an earlier write or sync failed */
        uint64_t closed_records;       /* under the host's lock: `records` when it was closed */
        _Atomic uint64_t company;      /* what `records` may be expected to reach before the next group is closed */
        _Atomic uint32_t company_skip; /* so many groups are not to wait for that */
        _Atomic uint32_t company_penalty;
        _Atomic uint64_t write_ns; /* what a synced group takes to be written: the median, about */
        _Atomic uint64_t lead_ns;  /* when the leader began, by its monotonic clock; 0: not noted. For people */

        /* Under the host's lock, by who has the turn: the group that was closed last, for who finishes it in its
         * leader's place, or takes its turn. */
        _Alignas(LOG_CACHE_LINE) _Atomic uint64_t closed_to;
        _Atomic uint64_t closed_mark;
        _Atomic uint32_t closed_is_synced;
        _Atomic uint32_t overtakings; /* since a group was last written */
        _Atomic uint64_t exposed;     /* somebody may be writing up to here, if it is beyond `written` */
        _Atomic uint64_t fencer;      /* who makes new files, and for which turn: a hint */
        _Atomic uint64_t overtaken;   /* turns, so far */

        /* Who leads and who sleeps. A waiter sleeps on the word of its group's parity. */
        _Alignas(LOG_CACHE_LINE) _Atomic uint64_t turn; /* log_turn.h */
        _Atomic uint32_t word[2];                       /* futex: that group is done, or one of it may lead */
        _Atomic uint32_t sleepers[2];                   /* at least as many as sleep; more when some died */
        _Atomic uint32_t room;                          /* futex: there may be room in the ring */
        _Atomic uint32_t room_sleepers;

        _Atomic uint64_t groups; /* counters: synced ones and pushes */
        _Atomic uint64_t group_bytes;

        struct log_table table;
};

struct log_host {
        /* The lock under which records are staged. 0 or a local failure. */
        int (*lock)(void *arg, uint32_t owner);
        void (*unlock)(void *arg);
        /* Under the lock, when a group is closed that will be synced: the mark that belongs to its end. If that
         * fails, `durable` is not called for it, but for a later one. */
        uint64_t (*closing)(void *arg);
        /* Without the lock, before waiters are woken: the group of this mark is durable. Perhaps late, and by several
         * at once: a mark that is behind others says nothing (R30). */
        void (*durable)(void *arg, uint64_t mark);
        /* Gives memory to the bytes [from, to) of the ring, which may have some: 0, -ENOSPC, ... NULL: all have. */
        int (*give_memory)(void *arg, uint64_t from, uint64_t to);
        void *arg;
};

struct log {
        struct log_shared *shared;
        char *ring; /* aligned to LOG_BLOCK */
        struct log_segments segments;
        struct log_host host;
        struct shlock_liveness liveness;
        _Atomic bool is_writing; /* somebody of this process uses the descriptors, or opens some */
};

/* Who leads; 0: nobody. */
static inline uint32_t log_leader(const struct log_shared *shared)
{
        return log_turn_owner(atomic_load(&shared->turn));
}

/* Fills shared state for a log that goes on at `position` (a multiple of LOG_BLOCK). `table` is loaded. */
void log_shared_init(struct log_shared *shared, uint64_t ring_bytes, uint32_t incarnation, uint64_t position);
void log_init(struct log *log, struct log_shared *shared, char *ring, int directory, uint32_t mode,
              const struct log_host *host, const struct shlock_liveness *liveness);
void log_close(struct log *log);

/* ---- Under the host's lock ---- */

/* Is there room in ring and segments for a record of this length and the end of a group? */
bool log_has_room_locked(const struct log *log, uint32_t byte_len);
/* Puts a record into the ring behind `end` and returns where it ends. It does not exist before
 * log_publish_locked. position, durable and incarnation are filled in here. */
uint64_t log_stage_locked(struct log *log, struct log_record *record, const void *payload);
/* The record exists from here on. One store: a successor of a dead owner may repeat it. */
static inline void log_publish_locked(struct log *log, uint64_t end)
{
        atomic_store_explicit(&log->shared->end, end, memory_order_release);
}

/* ---- Without it ---- */

/* Should further segments be made by now, so that nobody has to wait for one? (log_segments_extend) */
static inline bool log_wants_segment(const struct log *log)
{
        const struct log_table *table = &log->shared->table;
        uint64_t end = atomic_load_explicit(&log->shared->end, memory_order_relaxed);

        return end + log_segments_ahead(table) / 2 > log_segments_limit(table);
}

/* Makes room for a record of this length: writes the ring out, gives it memory, or adds a segment. Another may take the
 * room first: ask again. -ENOSPC, XAC_POISONED, local failures; -EMSGSIZE: longer than the ring. */
int log_make_room(struct log *log, uint32_t owner, uint32_t byte_len);
/* R38, under the host's lock: does this process have open what it takes to write a record of this length, and what the
 * end of its group takes? If not, log_get_ready, without the lock, and ask again. */
static inline bool log_is_ready_locked(const struct log *log, uint32_t byte_len)
{
        uint64_t end = atomic_load_explicit(&log->shared->end, memory_order_relaxed);

        return log_segments_are_held(&log->segments, end + byte_len + LOG_PAD_MAX);
}
/* -EMFILE, -ENFILE, -EACCES, ...; -EBUSY: another thread of this process has written for long, and has the descriptors.
 * Then there are some. */
int log_get_ready(struct log *log, uint32_t byte_len);
/* Returns when everything before `position` is durable, leading the write if nobody does. 0, XAC_POISONED, or
 * a local failure that keeps it from leading while nobody else does. */
int log_wait(struct log *log, uint32_t owner, uint64_t position);
/* Writes what is staged into the files without syncing, if nobody is writing. For commits that do not wait. */
int log_push(struct log *log, uint32_t owner);

static inline uint64_t log_end(const struct log *log)
{
        return atomic_load_explicit(&log->shared->end, memory_order_acquire);
}

static inline uint64_t log_durable(const struct log *log)
{
        return atomic_load_explicit(&log->shared->durable, memory_order_acquire);
}

static inline int log_poison(const struct log *log)
{
        return atomic_load_explicit(&log->shared->poison, memory_order_acquire) ? XAC_POISONED : 0;
}

/* A failure elsewhere after which nothing can be promised any more: a sync of a home file, of the manifest.
 * `why` is -errno. */
void log_set_poison(struct log *log, int why);

/* Takes back what a dead owner held (leadership, the table's lock). Before its number is given to another one. */
void log_take_back(struct log *log, uint32_t owner, uint32_t dead);

#endif
