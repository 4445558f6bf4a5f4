/* SPDX-License-Identifier: MIT */
#include "trace/collector.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

/* ---- blocks ---- */

static void put(struct collector *collector, const void *bytes, size_t byte_len)
{
        memcpy(collector->bytes + collector->used, bytes, byte_len);
        collector->used += (uint32_t)byte_len;
}

static void put_block(struct collector *collector, enum trace_block_kind kind, const struct ring *ring, uint64_t first,
                      size_t byte_len)
{
        const struct trace_block block = { .kind = kind,
                                           .byte_len = (uint32_t)byte_len,
                                           .track = ring->no,
                                           .first = first,
                                           .lost = atomic_load(&ring->lost) };
        put(collector, &block, sizeof(block));
}

/* From where the ring was drained up to `until`, which may go round its end. */
static void put_events(struct collector *collector, uint32_t ring_no, uint64_t first, uint64_t until)
{
        const struct trace_event *events = rings_events(collector->rings, ring_no);
        const size_t count = (size_t)(until - first);
        const size_t at = first % RING_EVENTS_MAX;
        const size_t upper = at + count > RING_EVENTS_MAX ? RING_EVENTS_MAX - at : count;
        put_block(collector, TRACE_BLOCK_EVENTS, &collector->rings->shared->ring[ring_no], first,
                  count * sizeof(*events));
        put(collector, events + at, upper * sizeof(*events));
        put(collector, events, (count - upper) * sizeof(*events));
}

/* ---- tracks that end ---- */

/* A track gives up its byte after it has said that it left: so the state is looked at once more. */
static bool is_dead(const struct collector *collector, uint32_t ring_no)
{
        struct ring *ring = &collector->rings->shared->ring[ring_no];
        if (ring->attachment == collector->attachment ||
            sys_is_byte_locked(collector->rings->file, RINGS_TRACK_BYTE + ring_no) != 0)
                return false;
        return atomic_load(&ring->state) == RING_IS_USED;
}

/* How it ended; 0: it has not. */
static enum trace_end_how how_ended(const struct collector *collector, uint32_t ring_no)
{
        const uint32_t state = atomic_load(&collector->rings->shared->ring[ring_no].state);
        if (state == RING_IS_LEFT)
                return TRACE_END_LEFT;
        return state == RING_IS_USED && is_dead(collector, ring_no) ? TRACE_END_DIED : 0;
}

static void put_end(struct collector *collector, const struct ring *ring, enum trace_end_how how)
{
        const struct trace_end end = { .how = how, .begun = how == TRACE_END_DIED ? atomic_load(&ring->begun) : 0 };
        put_block(collector, TRACE_BLOCK_END, ring, 0, sizeof(end));
        put(collector, &end, sizeof(end));
}

/* ---- writing ---- */

static void end_trace(struct rings_shared *shared, int why)
{
        if (!atomic_load(&shared->ended))
                atomic_store(&shared->ended, why);
}

/* TR2: first the blocks, then where they end. When the file is full, what it has no room for is lost. */
static int write_blocks(struct collector *collector)
{
        struct rings_shared *shared = collector->rings->shared;
        const uint64_t at = atomic_load(&shared->byte_len);
        int err = atomic_load(&shared->ended);
        if (!err && at + collector->used > shared->most_bytes)
                err = -EFBIG;
        if (!err)
                err = sys_write_all(collector->rings->file, collector->bytes, collector->used, at);
        if (err)
                end_trace(shared, err);
        else
                atomic_store(&shared->byte_len, at + collector->used);
        return err;
}

/* TR3 */
static void free_ring(struct rings_shared *shared, struct ring *ring)
{
        atomic_fetch_add(&shared->lost, atomic_exchange(&ring->lost, 0));
        atomic_store(&ring->state, RING_IS_FREE);
}

/* TR2: then what the rings need not keep any more. */
static void note_drained(struct collector *collector, bool is_lost)
{
        struct rings_shared *shared = collector->rings->shared;
        for (uint32_t i = 0; i < collector->count; i++) {
                const struct collected *collected = &collector->collected[i];
                struct ring *ring = &shared->ring[collected->ring_no];
                if (is_lost)
                        atomic_fetch_add(&shared->lost, collected->drained - atomic_load(&ring->drained));
                atomic_store(&ring->is_introduced, 1);
                atomic_store_explicit(&ring->drained, collected->drained, memory_order_release);
                if (collected->is_end)
                        free_ring(shared, ring);
        }
}

static void flush(struct collector *collector)
{
        if (collector->count)
                note_drained(collector, write_blocks(collector) != 0);
        collector->count = 0;
        collector->used = 0;
}

/* ---- rings ---- */

/* What is in the ring goes into the buffer, which has room for it. Returns how much that was. */
static uint32_t collect(struct collector *collector, uint32_t ring_no)
{
        struct ring *ring = &collector->rings->shared->ring[ring_no];
        const enum trace_end_how how = how_ended(collector, ring_no); /* what it has recorded is there by then */
        const uint64_t drained = atomic_load(&ring->drained);
        const uint64_t written = atomic_load_explicit(&ring->written, memory_order_acquire);
        const bool is_damaged = written - drained > RING_EVENTS_MAX; /* so much fits into no ring (TR4) */
        if (atomic_load(&ring->is_introduced) && written == drained && !how)
                return 0;
        if (!atomic_load(&ring->is_introduced)) {
                put_block(collector, TRACE_BLOCK_TRACK, ring, 0, sizeof(ring->track));
                put(collector, &ring->track, sizeof(ring->track));
        }
        if (written != drained && !is_damaged)
                put_events(collector, ring_no, drained, written);
        if (how)
                put_end(collector, ring, how);
        collector->collected[collector->count++] = (struct collected){ written, ring_no, how != 0 };
        return is_damaged ? 0 : (uint32_t)(written - drained);
}

static bool has_room(const struct collector *collector)
{
        const size_t most = RING_EVENTS_MAX * sizeof(struct trace_event) + 3 * sizeof(struct trace_block) +
                            sizeof(struct trace_track) + sizeof(struct trace_end);
        return collector->used + most <= COLLECTOR_BYTES;
}

uint32_t collector_drain(struct collector *collector)
{
        uint32_t fullest = 0;
        for (uint32_t i = 0; i < RINGS_MAX; i++) {
                if (atomic_load(&collector->rings->shared->ring[i].state) == RING_IS_FREE)
                        continue;
                if (!has_room(collector))
                        flush(collector);
                const uint32_t count = collect(collector, i);
                fullest = count > fullest ? count : fullest;
        }
        flush(collector);
        rings_write_header(collector->rings);
        atomic_fetch_add(&collector->rings->shared->rounds, 1);
        return fullest;
}

bool collector_is_done(const struct collector *collector)
{
        for (uint32_t i = 0; i < RINGS_MAX; i++) {
                const struct ring *ring = &collector->rings->shared->ring[i];
                const uint32_t state = atomic_load(&ring->state);
                if (state != RING_IS_FREE && ring->attachment == collector->attachment)
                        return false;
        }
        return true;
}
