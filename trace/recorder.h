/* SPDX-License-Identifier: MIT */
#ifndef TRACE_RECORDER_H
#define TRACE_RECORDER_H

/*
 * A track as its thread sees it. Only that thread calls; what finds no room in the ring is counted, and lost.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/rings.h"
#include "trace/ticks.h"

struct trace;

struct recorder {
        struct trace *trace;
        struct rings_shared *shared;
        struct ring *ring;
        struct trace_event *events;
        uint64_t written;
        uint64_t drained; /* at least; the ring knows */

        /* When the thread's own clock was read last, and what it said. */
        uint64_t clock_ticks;
        uint64_t clock_ns;
};

/* Puts events that belong together into the ring: all, or none. */
void recorder_add_all(struct recorder *recorder, const struct trace_event *events, uint32_t count);

static inline void recorder_add(struct recorder *recorder, enum trace_kind kind, unsigned flags, uint64_t begin_ticks,
                                uint64_t a, uint64_t b)
{
        const struct trace_event event = { begin_ticks, trace_what(kind, flags, ticks_now() - begin_ticks), a, b };
        recorder_add_all(recorder, &event, 1);
}

/* A transaction begins, then. What recorder_processor_ns() needs is asked at most once in a moment (ticks_moment()), as
 * it is a system call. */
void recorder_begins(struct recorder *recorder, uint64_t ticks);
/* Of a transaction that began then, and ends now: for how many ns its thread had a processor. It counts up to a moment
 * too many, of what was before. False: it took less than a moment. */
bool recorder_processor_ns(struct recorder *recorder, uint64_t begin_ticks, uint64_t now_ticks, uint64_t *ns);

/* A transaction is open since then; 0: none is. For who dies in the middle of it. */
static inline void recorder_note_begun(struct recorder *recorder, uint64_t ticks)
{
        atomic_store_explicit(&recorder->ring->begun, ticks, memory_order_relaxed);
}

/* A file's name. */
void recorder_name(struct recorder *recorder, uint32_t file_no, const char *name);

#endif
