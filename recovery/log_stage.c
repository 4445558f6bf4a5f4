/* SPDX-License-Identifier: MIT */
#include "recovery/log_stage.h"

/*
 * Position p stands in the ring at p - ring_base modulo its length, a power of two. What lies before `written` is free,
 * what lies behind `end` is nobody's: a record there does not exist, however much of it has been put there.
 */

#include <string.h>

#include "base/invariant.h"
#include "base/sys.h"

static uint64_t ring_offset(const struct log_shared *shared, uint64_t position)
{
        return (position - shared->ring_base) & (shared->ring_bytes - 1);
}

/* How much of [position, position + byte_len) lies before the ring's edge. */
static uint64_t before_edge(const struct log_shared *shared, uint64_t position, uint64_t byte_len)
{
        uint64_t left = shared->ring_bytes - ring_offset(shared, position);

        return byte_len < left ? byte_len : left;
}

static char *ring_at(const struct log *log, uint64_t position)
{
        return log->ring + ring_offset(log->shared, position);
}

static void ring_put(struct log *log, uint64_t position, const void *bytes, uint64_t byte_len)
{
        invariant(byte_len <= log->shared->ring_bytes);
        uint64_t part = before_edge(log->shared, position, byte_len);

        memcpy(ring_at(log, position), bytes, part);
        memcpy(log->ring, (const char *)bytes + part, byte_len - part);
}

static void ring_zero(struct log *log, uint64_t from, uint64_t to)
{
        invariant(from <= to && to - from <= log->shared->ring_bytes);
        uint64_t part = before_edge(log->shared, from, to - from);

        memset(ring_at(log, from), 0, part);
        memset(log->ring, 0, to - from - part);
}

bool log_stage_has_room(const struct log *log, uint64_t end, uint32_t byte_len)
{
        const struct log_shared *shared = log->shared;
        uint64_t needed = end + byte_len + LOG_PAD_MAX;
        uint64_t ready = atomic_load_explicit(&shared->ring_ready, memory_order_acquire);

        return (ready == shared->ring_bytes || needed - shared->ring_base <= ready) &&
               needed <= atomic_load_explicit(&shared->written, memory_order_acquire) + shared->ring_bytes &&
               needed <= log_segments_limit(&shared->table);
}

bool log_has_room_locked(const struct log *log, uint32_t byte_len)
{
        return log_stage_has_room(log, atomic_load_explicit(&log->shared->end, memory_order_relaxed), byte_len);
}

/* The lock makes it one thread at a time: no read-modify-write. */
static void count_record(struct log_shared *shared, uint64_t byte_len)
{
        uint64_t bytes = atomic_load_explicit(&shared->record_bytes, memory_order_relaxed);
        uint64_t records = atomic_load_explicit(&shared->records, memory_order_relaxed);

        atomic_store_explicit(&shared->record_bytes, bytes + byte_len, memory_order_relaxed);
        atomic_store_explicit(&shared->records, records + 1, memory_order_relaxed);
}

uint64_t log_stage_locked(struct log *log, struct log_record *record, const void *payload)
{
        struct log_shared *shared = log->shared;
        unsigned char header[LOG_RECORD_HEADER];
        uint64_t position = atomic_load_explicit(&shared->end, memory_order_relaxed);
        uint64_t content_end = position + LOG_RECORD_HEADER + record->payload_len;
        uint64_t end = position + log_record_len(record->payload_len);
        invariant(end - atomic_load_explicit(&shared->written, memory_order_relaxed) <= shared->ring_bytes); /* R6 */

        record->position = position;
        record->durable = log_durable(log);
        record->incarnation = shared->incarnation;
        log_record_encode(header, record);
        ring_put(log, position, header, sizeof(header));
        ring_put(log, position + LOG_RECORD_HEADER, payload, record->payload_len);
        ring_zero(log, content_end, end);
        count_record(shared, end - position);
        return end;
}

/* Of the group that is closed now: the lock makes it one at a time, and none is earlier than one before. */
static uint64_t group_time_locked(struct log_shared *shared, uint64_t now_ns)
{
        uint64_t last_ns = atomic_load_explicit(&shared->time_ns, memory_order_relaxed);

        if (now_ns > last_ns)
                atomic_store_explicit(&shared->time_ns, now_ns, memory_order_relaxed);
        return now_ns > last_ns ? now_ns : last_ns;
}

uint64_t log_stage_pad_locked(struct log *log)
{
        struct log_shared *shared = log->shared;
        uint64_t from = atomic_load_explicit(&shared->end, memory_order_relaxed);
        uint64_t to = log_group_end(from);
        unsigned char header[LOG_RECORD_HEADER];
        uint64_t now_ns;

        if (from == shared->padded)
                return from;
        now_ns = sys_wall_ns();
        log_pad_encode(header, from, (uint32_t)(to - from), log_durable(log), shared->incarnation,
                       group_time_locked(shared, now_ns), now_ns);
        ring_put(log, from, header, sizeof(header));
        ring_zero(log, from + sizeof(header), to);
        atomic_store_explicit(&shared->end, to, memory_order_release);
        shared->padded = to;
        return to;
}

uint64_t log_stage_look(const struct log *log, uint64_t from, uint64_t to, const char **bytes)
{
        *bytes = ring_at(log, from);
        return before_edge(log->shared, from, to - from);
}
