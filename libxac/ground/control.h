/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_CONTROL_H
#define LIBXAC_GROUND_CONTROL_H

/*
 * The shared control area: what all processes that have an environment open share, apart
 * from the pages themselves. It is one file of shared memory,
 *
 *      | struct control | process rows | participant rows | chunk marks | log | moves | slots | rings | filters |
 *
 * (sparse from the log's ring on), and it can be taken over from a dead owner at every instruction (I6): each structure
 * says below which stores make it so.
 *
 * Lock order: participant_lock, then checkpoint_lock, then backlog_lock, then file_lock, then pool_lock, then the lead
 * of the log (log_writer.h), then commit_lock (order_locks in shared.c; checked in test builds). Owners are numbered by
 * control_owner_of_row() and _of_process().
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/shlock.h"
#include "libxac/ground/directory_mark.h"
#include "libxac/ground/page_id.h"
#include "recovery/batches.h"
#include "recovery/log_writer.h"
#include "recovery/manifest.h"

enum {
        CONTROL_VERSION = 19,
        CACHE_LINE = 64,
        FILES_MAX = MANIFEST_FILES,
        PARTICIPANTS_MAX = MANIFEST_PARTICIPANTS,
        HEADS_PER_CHUNK = 1 << 16,
        CHUNKS_PER_FILE = (1 << PAGE_NO_BITS) / HEADS_PER_CHUNK,
        RING_ENTRIES = 1024,
        POOL_SLOTS_MIN = 64,
        LOG_RING_MAX = 4 << 20,    /* bytes */
        WAIT_FILTER_BYTES = 16384, /* waiters.h */
        MOVES_MAX = 1 << 15,       /* moves.h */
        HELD_LISTS = 16,
        HELD_AHEAD = 8,
        CONTROL_PATH_BYTES = 1024
};

/* A file: the name never changes once count covers it; the length only grows, and so does its place, in units. */
struct file_entry {
        char name[MANIFEST_NAME_BYTES];
        _Atomic uint32_t place_first; /* struct manifest_place (R23) */
        _Atomic uint32_t place_units;
        _Atomic uint64_t byte_len; /* rounded up to whole pages */
        /* What lies behind it was a hole when the file was found, or has come by growing, in this shared memory's time:
         * zeros, until a version goes home. */
        _Atomic uint64_t found_len;
        _Atomic uint32_t checksums_changed; /* [file_lock, or checkpoint_lock] the header of its checksums says less
                                               (file_checksums.c) */
};

/* A process: alive while the kernel holds its byte of the lock file (R16). */
struct process_row {
        _Atomic uint32_t is_used;
        _Atomic uint32_t pid; /* for people; never used to decide who is alive */
};

enum row_state { ROW_FREE = 0, ROW_USED };

/* A participant. The owner writes; others read, and clean up once its process is dead. */
struct row {
        /* Read by every reclaimer. 0 = no snapshot. */
        alignas(CACHE_LINE) _Atomic uint64_t snapshot;
        _Atomic uint64_t flip_epoch; /* as of before the snapshot was published (R14) */
        _Atomic uint64_t held;       /* the same snapshot, if others may join it (R26); 0: they may not */

        /* The commit in progress: its slots, linked through their descriptors (R5); and the
         * ring that tells views what this participant changed. */
        alignas(CACHE_LINE) _Atomic uint32_t intent_first;
        _Atomic uint32_t intent_count;
        _Atomic uint64_t ring_end;       /* entries ever written */
        _Atomic uint64_t ring_sequence;  /* the newest commit that is in the ring, or was too large */
        _Atomic uint64_t ring_lap;       /* the newest commit that was too large for the ring */
        _Atomic uint64_t fragment_start; /* where the log has the first fragment of this commit; 0: nowhere */
        _Atomic uint64_t fragment_last;  /* and where the last one ends (R35) */
        _Atomic uint32_t frames;         /* private slots that its views keep between transactions (view.h) */

        alignas(CACHE_LINE) _Atomic uint64_t commits;
        _Atomic uint64_t conflicts;
        _Atomic uint64_t read_faults;
        _Atomic uint64_t write_faults;
        _Atomic uint32_t cached; /* free slots in its cache (pool_used) */

        alignas(CACHE_LINE) _Atomic uint32_t state;
        _Atomic uint32_t process_no;
        _Atomic uint32_t reads_rings;
        _Atomic uint32_t has_ring;   /* its ring's memory is allocated */
        _Atomic uint32_t is_on_duty; /* the library's own: not counted among the participants */
        _Atomic uint32_t waiter;     /* enum waiters_word, a futex word: who commits marks it, too */
        _Atomic uint32_t has_filter; /* the filter of pages that it waits for has memory */
        _Atomic uint64_t filter_salt;
        _Atomic uint64_t id; /* what xac_self() calls it; 0: it has not asked (alive.h) */
};

/* Superseded slots that some snapshot still needs, by the snapshot that was in the way. Their descriptors have left
 * the processor's cache when they come out again: each knows which one lies HELD_AHEAD below it (struct slot). */
struct held_list {
        uint64_t snapshot;
        uint32_t first;
        uint32_t count;
        uint32_t pushed[HELD_AHEAD]; /* last, at a place of that remainder */
};

/*
 * Who may store to a field stands behind it in brackets: the lock under which, or who alone; and whoever takes over
 * from that one when it is dead. Anybody may read what is _Atomic, the rest under the lock only; but for the names of
 * files, which never change, and the generations (shared_write_manifest_locked).
 */
struct control {
        /* Constant once ready, but for the generations. */
        char magic[8];
        uint32_t version;
        uint32_t page_bytes;
        uint32_t max_participants;
        uint32_t pool_slots;
        uint32_t mode;
        uint32_t is_volatile;
        uint64_t log_ring_bytes; /* 0: volatile */
        uint64_t log_bytes;      /* of log before a checkpoint is forced */
        uint64_t area_bytes;     /* that the double-write buffers may take, together */
        uint64_t device;
        uint64_t inode;
        uint64_t generation;      /* [file_lock] of the manifest */
        uint64_t next_generation; /* [file_lock] of the manifest that is being written, stored before it is */
        uint64_t session_ns;      /* manifest.session.time_ns: a copy that goes on has the same generations (R15) */
        uint8_t uuid[16];
        char boot_id[40];
        char archive[CONTROL_PATH_BYTES]; /* the directory; empty: there is none (archiving.h) */
        struct manifest_session session;  /* that is archived */
        uint64_t archive_device;          /* of that directory; 0: it could not be reached yet */
        uint64_t archive_inode;
        uint8_t archive_marker[16]; /* the id of its marker (recovery/archive_marker.h); zeros: not known */
        uint32_t archive_is_packed;
        char path[CONTROL_PATH_BYTES]; /* of the directory when this was made: to find it by; empty: not known */
        struct directory_mark mark;    /* of it */
        _Atomic uint32_t is_ready;     /* [who created it] */
        _Atomic uint32_t has_lent;     /* [anybody] whether any slot was ever lent (lending.h) */

        /* All that a commit must write: lock and sequence, on one line. decided is stored
         * before the first head of commit `decided` (R5), sequence after the last. */
        alignas(CACHE_LINE) struct shlock commit_lock;
        _Atomic uint32_t exclusive;       /* [commit_lock; anybody to end it] who alone may commit (exclusion.h) */
        _Atomic uint64_t sequence;        /* [commit_lock] */
        _Atomic uint64_t decided;         /* [commit_lock] */
        _Atomic uint64_t decided_log_end; /* [commit_lock] where the log ends with that commit */
        _Atomic uint32_t committer;       /* [commit_lock] row number of who decided */
        _Atomic uint32_t ring_readers;    /* [anybody] bit 0: there are some; above: how often one came (ring.c) */
        _Atomic uint32_t exclusions;      /* [commit_lock] how often somebody became exclusive */
        _Atomic uint32_t waiters;         /* [commit_lock] are there some (waiters.h)? */

        alignas(CACHE_LINE) _Atomic uint64_t flip_epoch; /* [commit_lock] */
        _Atomic uint32_t rows_used;                      /* [participant_lock] no row beyond this one was ever used */
        _Atomic uint64_t unlinking; /* [commit_lock] word of the version that is being taken out of its chain */
        _Atomic uint64_t joinings;  /* [anybody] how often somebody has joined another's snapshot (R26) */
        /* Snapshots that are no participant's (R2, R9); 0 in a volatile environment, or when there is none. */
        _Atomic uint64_t checkpoint_snapshot; /* [checkpoint_lock; and commit_lock to set it] */
        _Atomic uint64_t checkpoint_target;   /* [checkpoint_lock] that one, once batches of it may be home; else 0 */
        _Atomic uint64_t durable_next;        /* [who leads the log] of the group that is being written */
        _Atomic uint64_t durable_sequence;    /* [who leads the log] all commits up to it are on disk */
        /* The backlog (backlog.h): pins too. */
        _Atomic uint64_t backlog_base; /* [commit_lock] 0: the log has every commit; else those up to this one */
        _Atomic uint64_t backlog_next; /* [backlog_lock and commit_lock] 0, or: up to here it is being logged */
        _Atomic uint64_t backlog_end; /* [commit_lock] 0, or: the log's end with the record of that, which is decided */
        _Atomic uint64_t
                backlog_pause; /* [anybody] up to this commit those that do not wait are logged by themselves */

        /* The shared ends of the slot lists. Lists are caches; descriptors are the truth (R7). */
        alignas(CACHE_LINE) struct shlock pool_lock;
        uint32_t free_first;               /* [pool_lock] */
        _Atomic uint32_t free_count;       /* [pool_lock] */
        _Atomic uint32_t slots_allocated;  /* [pool_lock] slots 1 .. slots_allocated - 1 have memory, or await it */
        _Atomic uint32_t slots_awaited;    /* [pool_lock] those that await it; they are SLOT_NOBODY's */
        _Atomic uint32_t held_count;       /* [pool_lock] */
        _Atomic uint64_t held_asked_ns;    /* [anybody] when somebody last wanted some of those */
        _Atomic uint32_t room_wanted;      /* [checkpoint_lock] with fewer slots left, pages go home */
        _Atomic uint32_t ceiling;          /* [anybody] the pool has at most so many slots now (R44) */
        _Atomic uint64_t ceiling_ns;       /* [anybody] when somebody last said so */
        _Atomic uint32_t aliases_end;      /* [pool_lock] descriptors pool_slots .. aliases_end - 1 have memory */
        uint32_t alias_free;               /* [pool_lock] a list of its own: the first */
        uint32_t awaited_from;             /* [pool_lock] no awaited slot has a lower number */
        uint32_t shrinks;                  /* [pool_lock] how often slots have given their memory back (R46) */
        struct held_list held[HELD_LISTS]; /* [pool_lock] */

        alignas(CACHE_LINE) struct shlock participant_lock;
        struct shlock file_lock;
        struct shlock checkpoint_lock;
        struct shlock backlog_lock;
        struct shlock archive_lock;
        _Atomic uint64_t archive_record;      /* [archive_lock] struct archive_mark's next_record */
        _Atomic uint64_t archive_sequence;    /* [archive_lock] commits up to this one are in the archive */
        _Atomic uint64_t archive_again_ns;    /* [archive_lock] it is not tried again before, after a failure */
        _Atomic uint64_t archived_ns;         /* [archive_lock] when it took something last, or had all */
        _Atomic uint64_t archive_level_ns;    /* when it was last seen to have all that is on disk, or to take some */
        _Atomic uint32_t duty;                /* [anybody] futex word of the background threads */
        _Atomic uint32_t duty_wanted;         /* [anybody] one has been woken, and has not begun */
        _Atomic uint64_t synced_ns;           /* [who is on duty] when one of them last made the log durable */
        _Atomic uint64_t tended_ns;           /* [who is on duty] when one of them last looked after waiters */
        _Atomic uint64_t checkpoint_sequence; /* [checkpoint_lock] of the manifest's checkpoint */
        _Atomic uint64_t checkpoint_position; /* [checkpoint_lock] */
        _Atomic uint64_t redo_position;       /* [checkpoint_lock] */
        _Atomic uint64_t checkpoints;         /* [checkpoint_lock] so far */
        _Atomic uint32_t has_moves;           /* [anybody] there is memory for them */
        _Atomic uint64_t moves_begin;         /* [checkpoint_lock] of those that are kept (moves.h) */
        _Atomic uint64_t moves_end;           /* [commit_lock] */
        _Atomic uint64_t moves_lost;          /* [commit_lock] the newest commit whose moves found no room */
        _Atomic uint64_t moves_lost_first;    /* [commit_lock] and the oldest of those behind the base */
        _Atomic uint32_t file_count;          /* [file_lock] */
        uint64_t next_id;                     /* [participant_lock] number that xac_self() gives next (alive.h) */
        uint64_t ids_end;                     /* [participant_lock] numbers below it are ours */
        _Atomic uint64_t past_commits;        /* [participant_lock] of participants that have left */
        _Atomic uint64_t past_conflicts;      /* [participant_lock] */
        _Atomic uint64_t past_read_faults;    /* [participant_lock] */
        _Atomic uint64_t past_write_faults;   /* [participant_lock] */

        struct file_entry file[FILES_MAX]; /* [file_lock] */
};

enum slot_state {
        SLOT_FREE = 0,  /* in the owner's cache; owner 0: in the shared list; SLOT_NOBODY: memory is awaited */
        SLOT_PRIVATE,   /* a page of the owner's open transaction, or a frame of its views */
        SLOT_PUBLISHED, /* the newest version of its page; tag is its sequence */
        SLOT_RETIRED    /* superseded, or displaced by home; the owner (0: all) gives it back */
};

/*
 * A slot's descriptor. tag is 0 while the content may change (R3); the version in a slot is
 * visible to snapshots in [tag, superseded).
 *
 * Behind those of the pool's slots stand aliases: descriptors of versions without a slot of their own. Their
 * content is another slot's, whose page was moved, or zeros. Everything that is said of slots is said of them too, but
 * that they are kept in a list of their own when free, and by no participant.
 *
 *      alias    page 9, sequence 30, content 5 ──>  slot 5    page 2, sequence 20 to 30, shares 1
 *
 * A slot that has shares is not free when its own version is gone (SHARES_KEPT) but with the last alias. Shares
 * change under the pool lock; whoever inherits that counts anew, as aliases that are not free are the truth (R7).
 */
struct slot {
        alignas(CACHE_LINE) _Atomic uint64_t tag;
        _Atomic uint64_t older;      /* version word of the version before; 0: home as ever */
        _Atomic uint64_t superseded; /* sequence of the version after; 0: there is none */
        _Atomic uint64_t page;       /* page id */
        _Atomic uint64_t home_epoch; /* flip epoch in which home took its place; 0: not so */
        _Atomic uint32_t use;        /* slot_use(): state and owner change in one store */
        _Atomic uint32_t next;       /* in whatever list it is */
        _Atomic uint32_t newer;      /* slot of the version after; a hint, its tag is to be superseded */
        _Atomic uint32_t content;    /* of an alias: the slot whose content it shows; 0: zeros */
        _Atomic uint32_t shares;     /* of a slot: aliases that show its content, and SHARES_KEPT */
        union {
                uint32_t recount; /* [pool_lock] of shares, while they are counted anew */
                uint32_t ahead;   /* [pool_lock] of a held slot: what will come out some pops later; a hint */
        };
};

#define SHARES_KEPT (UINT32_C(1) << 31) /* the slot's own version is gone: it is in no list */

static inline bool slot_is_kept(const struct slot *slot)
{
        return atomic_load_explicit(&slot->shares, memory_order_acquire) & SHARES_KEPT;
}

/* As many as slots, where the numbers suffice. */
static inline uint32_t control_aliases_max(uint32_t pool_slots)
{
        uint32_t left = (uint32_t)SLOT_MASK + 1 - pool_slots;
        return pool_slots < left ? pool_slots : left;
}

/* The owner of slots that have no memory yet. */
#define SLOT_NOBODY (UINT32_MAX >> 2)

static inline uint32_t slot_use(enum slot_state state, uint32_t owner)
{
        return owner << 2 | (uint32_t)state;
}

static inline enum slot_state slot_use_state(uint32_t use)
{
        return (enum slot_state)(use & 3);
}

static inline uint32_t slot_use_owner(uint32_t use)
{
        return use >> 2;
}

/* Who wants both, and does not keep others from changing them, loads `use` once. */
static inline enum slot_state slot_state(const struct slot *slot)
{
        return slot_use_state(atomic_load_explicit(&slot->use, memory_order_acquire));
}

static inline uint32_t slot_owner(const struct slot *slot)
{
        return slot_use_owner(atomic_load_explicit(&slot->use, memory_order_acquire));
}

/* Sets of states. */
enum {
        WAS_FREE = 1 << SLOT_FREE,
        WAS_PRIVATE = 1 << SLOT_PRIVATE,
        WAS_PUBLISHED = 1 << SLOT_PUBLISHED,
        WAS_RETIRED = 1 << SLOT_RETIRED
};

/*
 * The only way from state to state, or to another owner. `from`: the states that it may be in, WAS_FREE | ...; more
 * than one where a successor may repeat what a dead owner had begun.
 *
 *              taken             published              superseded, or home
 *      FREE ──────────> PRIVATE ──────────> PUBLISHED ─────────────────────> RETIRED
 *       ^                │   └─ undone, but its content is shared (SHARES_KEPT) ─^ │
 *       └──── undone ────┴───────────────── no snapshot sees it ───────────────────┘
 */
static inline void slot_move(struct slot *slot, unsigned from, enum slot_state to, uint32_t owner)
{
        invariant(from >> slot_state(slot) & 1);
        atomic_store_explicit(&slot->use, slot_use(to, owner), memory_order_release);
}

/* A page of a commit that was another page before (moves.h). */
struct move_entry {
        uint64_t sequence;
        struct batches_move move;
};

/* One page of one commit, for views to learn of; stamp is 0 while the entry is written. */
struct ring_entry {
        _Atomic uint64_t sequence;
        _Atomic uint64_t page;
};

_Static_assert(sizeof(struct row) == 4UL * CACHE_LINE, "rows share no cache lines");
_Static_assert(offsetof(struct control, flip_epoch) - offsetof(struct control, commit_lock) == CACHE_LINE,
               "lock and sequence are on one line");
_Static_assert(sizeof(struct slot) == CACHE_LINE, "a descriptor is a cache line");
_Static_assert(PARTICIPANTS_MAX < 1 << 16, "a row's owner has 16 bits");

/* Where the parts begin, in bytes. */
struct control_layout {
        uint64_t processes;
        uint64_t rows;
        uint64_t chunk_marks;
        uint64_t log;
        uint64_t log_ring; /* sparse from here on: log_ring_first() bytes of it have memory from the start */
        uint64_t moves;
        uint64_t slots;
        uint64_t rings;
        uint64_t filters;
        uint64_t lent;
        uint64_t end;
};

static inline struct control_layout control_layout(uint32_t max_participants, uint32_t pool_slots,
                                                   uint64_t log_ring_bytes)
{
        const uint64_t page = 4096;
        struct control_layout at;
        at.processes = (sizeof(struct control) + page - 1) / page * page;
        at.rows = at.processes + 2 * (uint64_t)max_participants * sizeof(struct process_row);
        at.rows = (at.rows + page - 1) / page * page;
        at.chunk_marks = at.rows + (uint64_t)max_participants * sizeof(struct row);
        at.chunk_marks = (at.chunk_marks + page - 1) / page * page;
        at.log = at.chunk_marks + (uint64_t)FILES_MAX * CHUNKS_PER_FILE;
        at.log_ring = at.log;
        if (log_ring_bytes)
                at.log_ring += (sizeof(struct log_shared) + page - 1) / page * page;
        at.moves = at.log_ring + log_ring_bytes;
        at.slots = at.moves;
        if (log_ring_bytes)
                at.slots += (MOVES_MAX * sizeof(struct move_entry) + page - 1) / page * page;
        at.rings = at.slots + ((uint64_t)pool_slots + control_aliases_max(pool_slots)) * sizeof(struct slot);
        at.rings = (at.rings + page - 1) / page * page;
        at.filters = at.rings + (uint64_t)max_participants * RING_ENTRIES * sizeof(struct ring_entry);
        at.lent = at.filters + (uint64_t)max_participants * WAIT_FILTER_BYTES;
        at.lent = (at.lent + page - 1) / page * page;
        at.end = at.lent + (uint64_t)pool_slots * sizeof(uint32_t);
        return at;
}

/* The newest commit that the log has. Caller holds the commit lock. */
static inline uint64_t control_logged_locked(const struct control *control)
{
        uint64_t base = atomic_load_explicit(&control->backlog_base, memory_order_relaxed);
        return base ? base : atomic_load_explicit(&control->sequence, memory_order_relaxed);
}

static inline uint32_t control_processes_max(uint32_t max_participants)
{
        return 2 * max_participants; /* so that a successor finds a row while dead ones are taken back */
}

static inline uint32_t control_owner_of_row(uint32_t row_no)
{
        return row_no + 1;
}

/* The word of an exclusiveness: the owner is a row's. */
static inline uint32_t control_exclusive(uint32_t turn, uint32_t owner)
{
        return turn << 16 | owner;
}

static inline uint32_t control_exclusive_owner(uint32_t word)
{
        return word & UINT32_C(0xffff);
}

static inline uint32_t control_owner_of_process(uint32_t process_no)
{
        return PARTICIPANTS_MAX + 1 + process_no;
}

#endif
