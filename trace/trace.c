/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "trace/collector.h"
#include "trace/rings.h"

enum {
        BUSY_NS = 500000,        /* between two rounds of a collector, when a ring had filled by a sixteenth */
        IDLE_NS = 50000000,      /* and else, unless somebody calls */
        OTHERS_NS = 100000000,   /* between two looks whether somebody else collects */
        CLOSE_WAIT_NS = 1000000, /* at close, for somebody else's round; */
        CLOSE_WAITS = 500,       /* so often at most */
        SETTLE_WAITS = 200       /* the same of who reads */
};

struct trace {
        struct rings rings;
        struct collector *collector;
        pthread_mutex_t mutex; /* of tracks that begin */
        pthread_t thread;
        _Atomic uint32_t stops; /* futex */
};

/* ---- the thread ---- */

static bool take_over(struct trace *trace)
{
        return !sys_lock_byte(trace->rings.file, RINGS_COLLECTOR_BYTE, false);
}

static void rest(struct trace *trace, uint64_t most_ns)
{
        struct rings_shared *shared = trace->rings.shared;
        const uint32_t seen = atomic_load(&shared->call);
        atomic_store(&shared->is_asleep, 1);
        if (!atomic_load(&trace->stops))
                sys_futex_wait((const uint32_t *)&shared->call, seen, most_ns);
        atomic_store(&shared->is_asleep, 0);
}

/* The fuller a ring was, the sooner it is looked at again. */
static void rest_after(struct trace *trace, uint32_t fullest)
{
        if (fullest < RING_EVENTS_MAX / 16)
                rest(trace, IDLE_NS);
        else if (fullest < RING_EVENTS_MAX / 4)
                sys_sleep_ns(BUSY_NS);
}

static void *run(void *trace_)
{
        struct trace *trace = trace_;
        bool collects = false;
        while (!atomic_load(&trace->stops)) {
                collects = collects || take_over(trace);
                if (!collects)
                        sys_futex_wait((const uint32_t *)&trace->stops, 0, OTHERS_NS);
                else
                        rest_after(trace, collector_drain(trace->collector));
        }
        return NULL;
}

/* As with the other background thread (libxac/care/duty.c), signals are the program's, and it allocates nothing. */
static int start(struct trace *trace)
{
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int err = pthread_create(&trace->thread, NULL, run, trace);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -err;
}

/* ---- opening and closing ---- */

static uint64_t make_attachment(void)
{
        uint64_t number = 0;
        return sys_random(&number, sizeof(number)) || !number ? 1 : number;
}

int trace_open(const char *path, uint64_t most_bytes, struct trace **trace)
{
        struct trace *self = calloc(1, sizeof(*self));
        struct collector *collector = calloc(1, sizeof(*collector));
        int err = self && collector ? rings_open(&self->rings, path, most_bytes, 1) : -ENOMEM;
        if (err)
                goto fail_open;
        collector->rings = &self->rings;
        collector->attachment = make_attachment();
        self->collector = collector;
        pthread_mutex_init(&self->mutex, NULL);
        err = start(self);
        if (err)
                goto fail_start;
        *trace = self;
        return 0;

fail_start:
        pthread_mutex_destroy(&self->mutex);
        rings_close(&self->rings);
fail_open:
        free(collector);
        free(self);
        return err;
}

/* Whoever collects, the last round comes after the last event; a collector that leaves gives its byte up only then. */
static void collect_the_rest(struct trace *trace)
{
        for (int i = 0; i < CLOSE_WAITS && !collector_is_done(trace->collector); i++) {
                if (take_over(trace))
                        collector_drain(trace->collector);
                else
                        sys_sleep_ns(CLOSE_WAIT_NS);
        }
}

void trace_close(struct trace *trace)
{
        struct rings_shared *shared = trace->rings.shared;
        atomic_store(&trace->stops, 1);
        sys_futex_wake((const uint32_t *)&trace->stops, 1);
        atomic_fetch_add(&shared->call, 1);
        sys_futex_wake((const uint32_t *)&shared->call, INT_MAX);
        sys_join(trace->thread);
        collect_the_rest(trace);
        rings_close(&trace->rings);
        pthread_mutex_destroy(&trace->mutex);
        free(trace->collector);
        free(trace);
}

void trace_forget_in_child(struct trace *trace)
{
        rings_detach(&trace->rings);
}

/* ---- tracks ---- */

/* A ring that is free, and its byte. Its memory stays when it is free again. */
static int claim(const struct rings *rings, uint32_t ring_no)
{
        const struct ring *ring = &rings->shared->ring[ring_no];
        const uint64_t byte_len = rings_events_at(1) - rings_events_at(0);
        if (atomic_load(&ring->state) != RING_IS_FREE)
                return -EAGAIN;
        int err = sys_lock_byte(rings->file, RINGS_TRACK_BYTE + ring_no, false);
        if (err)
                return err;
        err = atomic_load(&ring->state) == RING_IS_FREE
                      ? sys_allocate(rings->memory, rings_events_at(ring_no), byte_len)
                      : -EAGAIN; /* another has had it meanwhile */
        if (err)
                sys_unlock_byte(rings->file, RINGS_TRACK_BYTE + ring_no);
        return err;
}

static int claim_any(const struct rings *rings, uint32_t *ring_no)
{
        int err = -EAGAIN;
        for (uint32_t i = 0; i < RINGS_MAX && err == -EAGAIN; i++) {
                err = claim(rings, i);
                *ring_no = i;
        }
        return err;
}

static void fill_ring(struct trace *trace, struct ring *ring, const struct trace_track *track)
{
        ring->no = atomic_fetch_add(&trace->rings.shared->tracks, 1);
        ring->attachment = trace->collector->attachment;
        ring->track = *track;
        atomic_store(&ring->written, 0);
        atomic_store(&ring->lost, 0);
        atomic_store(&ring->begun, 0);
        atomic_store(&ring->drained, 0);
        atomic_store(&ring->is_introduced, 0);
        atomic_store(&ring->state, RING_IS_USED);
}

static int begin_locked(struct trace *trace, struct recorder *recorder, const struct trace_track *track)
{
        uint32_t ring_no;
        int err = claim_any(&trace->rings, &ring_no);
        if (err)
                return err;
        struct ring *ring = &trace->rings.shared->ring[ring_no];
        fill_ring(trace, ring, track);
        *recorder = (struct recorder){ .trace = trace,
                                       .shared = trace->rings.shared,
                                       .ring = ring,
                                       .events = rings_events(&trace->rings, ring_no) };
        return 0;
}

struct recorder *trace_track_begin(struct trace *trace, const struct trace_track *track)
{
        struct recorder *recorder = malloc(sizeof(*recorder));
        if (recorder) {
                pthread_mutex_lock(&trace->mutex);
                int err = begin_locked(trace, recorder, track);
                pthread_mutex_unlock(&trace->mutex);
                if (!err)
                        return recorder;
        }
        free(recorder);
        atomic_fetch_add(&trace->rings.shared->untraced, 1);
        return NULL;
}

void trace_track_end(struct recorder *recorder)
{
        struct rings *rings = &recorder->trace->rings;
        const uint32_t ring_no = (uint32_t)(recorder->ring - rings->shared->ring);
        atomic_store(&recorder->ring->state, RING_IS_LEFT);
        sys_unlock_byte(rings->file, RINGS_TRACK_BYTE + ring_no);
        free(recorder);
}

/* ---- what others have left ---- */

/* Somebody collects. A round that has begun may have passed a ring already: so two have to end. */
static void await_rounds(struct rings_shared *shared)
{
        const uint32_t seen = atomic_load(&shared->rounds);
        for (int i = 0; i < SETTLE_WAITS && atomic_load(&shared->rounds) - seen < 2; i++) {
                atomic_fetch_add(&shared->call, 1);
                sys_futex_wake((const uint32_t *)&shared->call, 1);
                sys_sleep_ns(CLOSE_WAIT_NS);
        }
}

int trace_settle(const char *path)
{
        struct rings rings;
        int err = rings_open(&rings, path, 0, 0);
        if (err)
                return err == -ENOENT ? 0 : err;
        struct collector *collector = calloc(1, sizeof(*collector));
        if (collector && !sys_lock_byte(rings.file, RINGS_COLLECTOR_BYTE, false)) {
                collector->rings = &rings;
                collector_drain(collector);
                sys_unlock_byte(rings.file, RINGS_COLLECTOR_BYTE);
        } else {
                await_rounds(rings.shared);
        }
        rings_close(&rings);
        free(collector);
        return collector ? 0 : -ENOMEM;
}
