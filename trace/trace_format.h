/* SPDX-License-Identifier: MIT */
#ifndef TRACE_TRACE_FORMAT_H
#define TRACE_TRACE_FORMAT_H

/*
 * The file of a trace (XAC_TRACE, docs/TRACE.md): a header, then blocks, as they were written.
 *
 *      | struct trace_header | block | bytes | block | bytes | ...
 *
 * A track is a participant: a thread while it uses an environment, or the background thread of one. What it records is
 * numbered from 0 on. A block of events says which number the first has, because a collector that was killed may have
 * left events that its successor writes again: what was read already is skipped. Integers are those of the machine.
 */

#include <stdint.h>

#define TRACE_MAGIC "XACTRACE" /* its eight bytes */

enum {
        TRACE_VERSION = 1,
        TRACE_HEADER_BYTES = 4096,
        TRACE_RINGS_NAME_BYTES = 64,
        TRACE_PATH_BYTES = 1024,
        TRACE_PROGRAM_BYTES = 16,
        TRACE_PARTS = 64 /* of a page: a bit each says whether bytes in it were changed */
};

/* Time is counted in ticks. Two moments at which both clocks were read say how long one is; the second is the newest
 * block's. ns[] is CLOCK_MONOTONIC. */
struct trace_header {
        char magic[8];
        uint32_t version;
        int32_t ended; /* 0, or why nothing more is written: -ENOSPC, -EFBIG (XAC_TRACE_BYTES), another -errno */
        char rings[TRACE_RINGS_NAME_BYTES]; /* of the shared memory where the newest events are; empty: nowhere */
        uint64_t byte_len;                  /* of the file: what lies behind it is no block */
        uint64_t ticks[2];
        uint64_t ns[2];
        int64_t real_ns;   /* CLOCK_REALTIME at the first moment */
        uint64_t lost;     /* events that found no room */
        uint64_t untraced; /* participants that found no ring */
        uint32_t tracks;   /* so far; the first is 0 */
        uint32_t zero;
        char boot_id[40]; /* ticks are of this boot */
};

enum trace_block_kind {
        TRACE_BLOCK_TRACK = 1, /* struct trace_track: it begins */
        TRACE_BLOCK_EVENTS,    /* struct trace_event, some */
        TRACE_BLOCK_END        /* struct trace_end */
};

struct trace_block {
        uint32_t kind;
        uint32_t byte_len; /* of what follows; a multiple of 8 */
        uint32_t track;    /* no two of a file have the same */
        uint32_t zero;
        uint64_t first; /* events: the number of the first */
        uint64_t lost;  /* events of this track that found no room, so far */
};

enum trace_track_flags {
        TRACE_TRACK_BACKGROUND = 1, /* the library's own thread */
        TRACE_TRACK_PROCESSOR = 2   /* a long transaction comes with a TRACE_PROCESSOR; older traces have none */
};

struct trace_track {
        uint64_t at; /* when it began: ticks */
        uint32_t pid;
        uint32_t tid; /* background: 0 */
        uint32_t row; /* of the participant; another may get it afterwards. Background: UINT32_MAX */
        uint32_t page_bytes;
        uint32_t flags;
        uint32_t zero;
        uint8_t uuid[16];                  /* of the environment */
        char program[TRACE_PROGRAM_BYTES]; /* its name, cut */
        char path[TRACE_PATH_BYTES];       /* of the environment's directory */
};

enum trace_end_how { TRACE_END_LEFT = 1, TRACE_END_DIED };

struct trace_end {
        uint32_t how;
        uint32_t zero;
        uint64_t begun; /* died: when the transaction began that was open then; 0: none was */
};

/* `what` is the kind, flags, and how long it took in ticks. */
struct trace_event {
        uint64_t at; /* when it began: ticks */
        uint64_t what;
        uint64_t a;
        uint64_t b;
};

enum trace_kind {
        /* A transaction that took effect. a: the number of its commit in the environment; 0: it wrote nothing. b:
         * trace_commit_pack(). */
        TRACE_COMMIT = 1,
        /* One that lost. a: trace_page() of the page that others had changed; TRACE_PAGE_UNKNOWN. b: the number of the
         * commit that changed it; 0: not known. */
        TRACE_CONFLICT,
        /* Comes right behind a TRACE_CONFLICT whose page is known: which bytes of it. at: trace_ranges_pack(). a: the
         * parts of the page (a bit for each sixty-fourth) that others have changed since the loser's snapshot; b: that
         * the loser had changed. */
        TRACE_BYTES,
        /* One that was undone for another reason. a: the reason, an int: 0 for xabort(), or an error. */
        TRACE_ABORT,
        /* A page fault in a view. a: the page. */
        TRACE_FAULT,
        /* Before it begins again, who has lost waits. a: how often it has lost in a row. */
        TRACE_PAUSE,
        /* A write to the log, and its sync. a: how many commits. b: the newest of them. */
        TRACE_GROUP,
        /* Pages are brought home. b: as of which commit. */
        TRACE_CHECKPOINT,
        /* xac_wait() slept. */
        TRACE_WAIT,
        /* The file with the number a has a name, of so many bytes as the event is long: they are in the place of the
         * events that come right behind it, 32 in each. */
        TRACE_NAME,
        /* Comes right behind a TRACE_COMMIT, a TRACE_CONFLICT with its TRACE_BYTES, or a TRACE_ABORT that took longer
         * than a moment (ticks_moment()). a: for how many ns of it at most its thread had a processor. A shorter one
         * had one all the time, or nearly so. */
        TRACE_PROCESSOR
};

enum trace_flags {
        TRACE_READ_ONLY = 1,  /* COMMIT: begun with XAC_RDONLY */
        TRACE_SNAPSHOT = 2,   /* COMMIT, CONFLICT: begun with XAC_SNAPSHOT_ISOLATION */
        TRACE_WAITED = 4,     /* COMMIT: until it was on disk */
        TRACE_WRITE = 8,      /* FAULT: by a store */
        TRACE_EXCLUSIVE = 16, /* PAUSE: then all others wait for it */
        TRACE_AGAIN = 32,     /* FAULT: the transaction had touched the page before */
        TRACE_FAILED = 64     /* GROUP, CHECKPOINT: an error */
};

enum { TRACE_LEN_BITS = 48, TRACE_END_SHIFT = 4 };

static inline uint64_t trace_what(enum trace_kind kind, unsigned flags, uint64_t ticks)
{
        const uint64_t most = (UINT64_C(1) << TRACE_LEN_BITS) - 1;
        return (uint64_t)kind << 56 | (uint64_t)flags << TRACE_LEN_BITS | (ticks < most ? ticks : most);
}

static inline enum trace_kind trace_kind_of(const struct trace_event *event)
{
        return (enum trace_kind)(event->what >> 56);
}

static inline unsigned trace_flags_of(const struct trace_event *event)
{
        return event->what >> TRACE_LEN_BITS & 0xff;
}

static inline uint64_t trace_len_of(const struct trace_event *event)
{
        return event->what & ((UINT64_C(1) << TRACE_LEN_BITS) - 1);
}

#define TRACE_PAGE_UNKNOWN UINT64_MAX

static inline uint64_t trace_page(uint32_t file, uint64_t page_no)
{
        return (uint64_t)file << 32 | page_no;
}

static inline uint32_t trace_page_file(uint64_t page)
{
        return (uint32_t)(page >> 32);
}

static inline uint32_t trace_page_no(uint64_t page)
{
        return (uint32_t)page;
}

static inline uint64_t trace_at_most(uint64_t number, uint64_t most)
{
        return number < most ? number : most;
}

/* Pages that it read, and wrote (65,535 at most); and if it waited for the disk, its ticks since xend() was called, in
 * units of 16. */
static inline uint64_t trace_commit_pack(uint64_t read, uint64_t written, uint64_t end_ticks)
{
        return trace_at_most(end_ticks >> TRACE_END_SHIFT, UINT32_MAX) << 32 | trace_at_most(read, UINT16_MAX) << 16 |
               trace_at_most(written, UINT16_MAX);
}

static inline uint64_t trace_commit_end_ticks(uint64_t packed)
{
        return packed >> 32 << TRACE_END_SHIFT;
}

static inline uint32_t trace_commit_read(uint64_t packed)
{
        return packed >> 16 & UINT16_MAX;
}

static inline uint32_t trace_commit_written(uint64_t packed)
{
        return packed & UINT16_MAX;
}

/* The first and the last byte of the page that others have changed, and that the loser had; first > last: none. */
static inline uint64_t trace_ranges_pack(uint32_t others_first, uint32_t others_last, uint32_t own_first,
                                         uint32_t own_last)
{
        return (uint64_t)others_first << 48 | (uint64_t)others_last << 32 | (uint64_t)own_first << 16 | own_last;
}

#endif
