/* SPDX-License-Identifier: MIT */
#ifndef TRACE_RINGS_H
#define TRACE_RINGS_H

/*
 * The shared memory of a trace: a ring for each track, until a collector has written what is in it to the file. It
 * outlives processes, so that nothing is missing of those that are killed.
 *
 *      | struct rings_shared | struct ring, RINGS_MAX of them | events of ring 0 | events of ring 1 | ...      (sparse)
 *
 * Who may store to a field stands behind it in brackets. One collector works at a time: who holds RINGS_COLLECTOR_BYTE
 * of the file. A track holds the byte of its ring, so that the kernel says whether it is alive.
 *
 * TR1  An event is counted in `written` after it stands in the ring, and overwritten only after `drained` has passed
 *      it.
 * TR2  The file's blocks are written first, then `byte_len` moves behind them, then `drained` moves: a collector that
 *      dies in between leaves blocks that its successor overwrites, or events that it writes once more under the same
 *      numbers (docs/models/trace.pml).
 * TR3  A ring becomes free by the collector alone, after the track's end is in the file. Who leaves says so and then
 *      gives up its byte; so who has no byte is looked at once more before it is taken for dead. How a track has
 *      ended is looked at before how much it has recorded.
 * TR4  Who opens it for writing trusts whoever may write to it. So file and memory are this user's, made for their
 *      owner alone, and the memory says which file it is of: no header leads to the memory of another trace, and
 *      nobody else makes either shorter. Counts in it are bounded all the same where they are used.
 * TR5  A file has one set of rings at a time. Memory that is not believed is replaced only when nobody holds a lock
 *      of the file any more but who opens it.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "trace/trace_format.h"

enum {
        RINGS_VERSION = 2,
        RINGS_MAX = 256,
        RING_EVENTS_MAX = 8192, /* a power of two */
        RINGS_LINE = 64,

        /* Bytes of the file that are locked: */
        RINGS_COLLECTOR_BYTE = 0, /* by the collector */
        RINGS_OPENING_BYTE = 1,   /* by who opens or closes */
        RINGS_USE_BYTE = 2,       /* shared, by each process that records */
        RINGS_TRACK_BYTE = 3      /* and following: by each track */
};

enum ring_state { RING_IS_FREE = 0, RING_IS_USED, RING_IS_LEFT };

struct ring {
        _Atomic uint32_t state; /* [its track, from free to used to left; the collector back to free] */
        uint32_t no;            /* [its track] of the track */
        uint64_t attachment;    /* [its track] which process' it is (struct trace) */
        struct trace_track track;

        alignas(RINGS_LINE) _Atomic uint64_t written; /* [its track] events ever; the rest too */
        _Atomic uint64_t lost;                        /* that found no room */
        _Atomic uint64_t begun;                       /* ticks of the open transaction; 0: none */

        alignas(RINGS_LINE) _Atomic uint64_t drained; /* [collector] events that are in the file */
        _Atomic uint32_t is_introduced;               /* [collector] the file knows the track */
};

struct rings_shared {
        char magic[8];
        uint32_t version;
        _Atomic uint32_t is_ready;
        uint64_t device, inode;    /* of the file */
        uint64_t most_bytes;       /* that the file may have */
        _Atomic uint32_t tracks;   /* [who opens a track] so far */
        _Atomic int32_t ended;     /* [collector] trace_header.ended */
        _Atomic uint64_t byte_len; /* [collector] of the file */
        _Atomic uint64_t lost; /* [collector] events of tracks that are free again, or that the file had no room for */
        _Atomic uint64_t untraced; /* [anybody] participants that found no ring */
        uint64_t begin_ticks, begin_ns;
        int64_t begin_real_ns;

        alignas(RINGS_LINE) _Atomic uint32_t call; /* futex: a ring is filling */
        _Atomic uint32_t is_asleep;                /* [collector] */
        _Atomic uint32_t rounds;                   /* [collector] that it has begun and ended */
        alignas(RINGS_LINE) struct ring ring[RINGS_MAX];
};

/* This process' attachment to it. */
struct rings {
        struct rings_shared *shared;
        int file;
        int memory;
        int may_create; /* it was opened to record */
        char name[TRACE_RINGS_NAME_BYTES];
};

static inline uint64_t rings_events_at(uint32_t ring_no)
{
        const uint64_t header = (sizeof(struct rings_shared) + 4095) / 4096 * 4096;
        return header + (uint64_t)ring_no * RING_EVENTS_MAX * sizeof(struct trace_event);
}

static inline struct trace_event *rings_events(const struct rings *rings, uint32_t ring_no)
{
        return (struct trace_event *)((char *)rings->shared + rings_events_at(ring_no));
}

/* Opens the file, and the memory that belongs to it; with `may_create`, makes either if it is not there. -ENOENT: no
 * memory belongs to it any more (the file is whole); -EEXIST: it is something else than a trace, and is left alone;
 * -ESTALE: it is of an earlier boot; -EBUSY: others record there in rings that this process cannot use (TR5); -EPERM:
 * it is somebody else's (TR4). */
int rings_open(struct rings *rings, const char *path, uint64_t most_bytes, int may_create);
/* Lets go; when nobody else records, and all is in the file, the memory is removed. */
void rings_close(struct rings *rings);
/* The descriptors and the memory alone: in a forked child. */
void rings_detach(struct rings *rings);
/* Writes the file's header, as things stand. */
int rings_write_header(const struct rings *rings);

#endif
