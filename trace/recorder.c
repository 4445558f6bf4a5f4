/* SPDX-License-Identifier: MIT */
#include "trace/recorder.h"

#include <stdbool.h>
#include <string.h>

enum { CALLS_PER_RING = 4 /* a collector that sleeps is woken when so large a part has been filled */ };

static bool has_room(struct recorder *recorder, uint32_t count)
{
        if (recorder->written + count - recorder->drained <= RING_EVENTS_MAX)
                return true;
        recorder->drained = atomic_load_explicit(&recorder->ring->drained, memory_order_acquire); /* TR1 */
        return recorder->written + count - recorder->drained <= RING_EVENTS_MAX;
}

static __attribute__((noinline)) void lose(struct ring *ring, uint32_t count)
{
        const uint64_t before = atomic_load_explicit(&ring->lost, memory_order_relaxed);
        atomic_store_explicit(&ring->lost, before + count, memory_order_relaxed);
}

static __attribute__((noinline)) void call_collector(struct rings_shared *shared)
{
        atomic_fetch_add(&shared->call, 1);
        if (atomic_load(&shared->is_asleep))
                sys_futex_wake((const uint32_t *)&shared->call, 1);
}

void recorder_add_all(struct recorder *recorder, const struct trace_event *events, uint32_t count)
{
        const uint64_t part = RING_EVENTS_MAX / CALLS_PER_RING;
        if (!has_room(recorder, count)) {
                lose(recorder->ring, count);
                return;
        }
        const uint64_t begin = recorder->written;
        for (uint32_t i = 0; i < count; i++)
                recorder->events[recorder->written++ % RING_EVENTS_MAX] = events[i];
        atomic_store_explicit(&recorder->ring->written, recorder->written, memory_order_release); /* TR1 */
        if (begin / part != recorder->written / part)
                call_collector(recorder->shared);
}

static void read_clock(struct recorder *recorder, uint64_t ticks)
{
        recorder->clock_ns = sys_thread_ns();
        recorder->clock_ticks = ticks;
}

void recorder_begins(struct recorder *recorder, uint64_t ticks)
{
        if (ticks - recorder->clock_ticks > ticks_moment())
                read_clock(recorder, ticks);
        recorder_note_begun(recorder, ticks);
}

bool recorder_processor_ns(struct recorder *recorder, uint64_t begin_ticks, uint64_t now_ticks, uint64_t *ns)
{
        const uint64_t before_ns = recorder->clock_ns;
        if (now_ticks - begin_ticks <= ticks_moment())
                return false;
        read_clock(recorder, now_ticks);
        *ns = recorder->clock_ns - before_ns;
        return true;
}

void recorder_name(struct recorder *recorder, uint32_t file_no, const char *name)
{
        enum { EVENTS = 1 + 256 / sizeof(struct trace_event) };
        struct trace_event events[EVENTS] = { 0 };
        size_t len = strlen(name);
        if (len > sizeof(events) - sizeof(events[0]))
                len = sizeof(events) - sizeof(events[0]);
        events[0] = (struct trace_event){ ticks_now(), trace_what(TRACE_NAME, 0, len), file_no, 0 };
        memcpy(&events[1], name, len);
        recorder_add_all(recorder, events,
                         (uint32_t)(1 + (len + sizeof(struct trace_event) - 1) / sizeof(struct trace_event)));
}
