/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_cursor.h"

#include <string.h>

void trace_cursor_begin(struct trace_cursor *cursor, const struct trace_file *file,
                        const struct trace_file_track *track)
{
        *cursor = (struct trace_cursor){ .file = file, .track = track };
}

/* ---- Events as they stand there ---- */

static const struct trace_event *raw_next(struct trace_cursor *cursor)
{
        for (; cursor->chunk < cursor->track->chunk_count; cursor->chunk++, cursor->at = 0) {
                const struct trace_file_chunk *chunk = &cursor->track->chunks[cursor->chunk];

                if (cursor->at < chunk->count)
                        return &chunk->events[cursor->at++];
        }
        return NULL;
}

/* The one right behind what raw_next() gave; NULL: others are missing in between. */
static const struct trace_event *raw_follower(struct trace_cursor *cursor)
{
        const struct trace_file_chunk *chunk = &cursor->track->chunks[cursor->chunk];

        if (cursor->at < chunk->count)
                return &chunk->events[cursor->at];
        if (cursor->chunk + 1 == cursor->track->chunk_count || chunk[1].first != chunk->first + chunk->count)
                return NULL;
        return chunk[1].events; /* it has some */
}

/* ---- What makes sense ---- */

static void note_odd(struct trace_cursor *cursor, const struct trace_event *event)
{
        if (!cursor->odd++)
                cursor->odd_first = event;
}

static bool is_sound(const struct trace_file *file, const struct trace_event *event)
{
        enum trace_kind kind = trace_kind_of(event);

        if (kind < TRACE_COMMIT || kind > TRACE_NAME || kind == TRACE_BYTES || event->at < file->least_ticks ||
            event->at > file->most_ticks)
                return false;
        return trace_len_of(event) <= (kind == TRACE_NAME ? TRACE_FILE_NAME_MAX : file->most_ticks - event->at);
}

/* The bytes of a name are no events. False: some are missing. */
static bool take_name(struct trace_cursor *cursor, char *name)
{
        uint64_t len = trace_len_of(cursor->event);

        for (uint64_t done = 0; done < len; done += sizeof(struct trace_event)) {
                const struct trace_event *part = raw_follower(cursor);
                size_t part_len = len - done < sizeof(*part) ? (size_t)(len - done) : sizeof(*part);

                if (!part)
                        return false;
                raw_next(cursor);
                if (name)
                        memcpy(name + done, part, part_len);
        }
        if (name)
                name[len] = '\0';
        return true;
}

static bool is_range(uint64_t packed, uint32_t page_bytes)
{
        uint32_t first = (uint32_t)(packed >> 16 & UINT16_MAX);
        uint32_t last = (uint32_t)(packed & UINT16_MAX);

        return first > last || last < page_bytes;
}

static void take_bytes(struct trace_cursor *cursor)
{
        const struct trace_event *there = raw_follower(cursor);
        const struct trace_event *bytes = &cursor->copy[1];
        uint32_t page_bytes = cursor->file->envs[cursor->track->env].page_bytes;

        if (!there)
                return;
        cursor->copy[1] = *there;
        if (trace_kind_of(bytes) != TRACE_BYTES)
                return;
        raw_next(cursor);
        if (is_range(bytes->at >> 32, page_bytes) && is_range(bytes->at, page_bytes))
                cursor->bytes = bytes;
        else
                note_odd(cursor, there);
}

/* A transaction without one was short, or nobody asked. */
static void take_processor(struct trace_cursor *cursor)
{
        const struct trace_event *there = raw_follower(cursor);
        const uint64_t took_ns = cursor->end_ns - cursor->begin_ns;

        cursor->processor_ns = took_ns;
        if (!there || trace_kind_of(there) != TRACE_PROCESSOR)
                return;
        raw_next(cursor);
        cursor->processor_ns = trace_at_most(there->a, took_ns);
}

static bool is_transaction(enum trace_kind kind)
{
        return kind == TRACE_COMMIT || kind == TRACE_CONFLICT || kind == TRACE_ABORT;
}

/* ---- The walk ---- */

bool trace_cursor_next_or_name(struct trace_cursor *cursor, char *name)
{
        for (;;) {
                const struct trace_event *there = raw_next(cursor);
                const struct trace_event *event = &cursor->copy[0];

                if (!there)
                        return false;
                cursor->copy[0] = *there;
                cursor->event = event;
                if (!is_sound(cursor->file, event)) {
                        note_odd(cursor, there);
                        continue;
                }
                cursor->bytes = NULL;
                cursor->begin_ns = cursor->end_ns = trace_file_ns(cursor->file, event->at);
                if (trace_kind_of(event) == TRACE_NAME) {
                        if (take_name(cursor, name))
                                return true;
                        continue;
                }
                cursor->end_ns = trace_file_ns(cursor->file, event->at + trace_len_of(event));
                if (trace_kind_of(event) == TRACE_CONFLICT)
                        take_bytes(cursor);
                if (is_transaction(trace_kind_of(event)))
                        take_processor(cursor);
                return true;
        }
}

bool trace_cursor_next(struct trace_cursor *cursor)
{
        while (trace_cursor_next_or_name(cursor, NULL))
                if (trace_kind_of(cursor->event) != TRACE_NAME)
                        return true;
        return false;
}

/* ---- What is in them ---- */

static struct trace_bytes unpack(uint64_t range, uint64_t parts, uint32_t page_bytes)
{
        struct trace_bytes bytes = { .first = (uint32_t)(range >> 16 & UINT16_MAX),
                                     .last = (uint32_t)(range & UINT16_MAX) };
        uint32_t part_bytes = page_bytes / TRACE_PARTS;
        uint64_t first_part, last_part;

        if (bytes.first > bytes.last)
                return (struct trace_bytes){ .first = 1 };
        first_part = UINT64_C(1) << bytes.first / part_bytes;
        last_part = UINT64_C(1) << bytes.last / part_bytes;
        bytes.parts = (parts & ((last_part - first_part) | last_part)) | first_part | last_part;
        return bytes;
}

void trace_cursor_bytes(const struct trace_cursor *cursor, struct trace_bytes *others, struct trace_bytes *own)
{
        uint32_t page_bytes = cursor->file->envs[cursor->track->env].page_bytes;

        *others = unpack(cursor->bytes->at >> 32, cursor->bytes->a, page_bytes);
        *own = unpack(cursor->bytes->at, cursor->bytes->b, page_bytes);
}

uint64_t trace_cursor_xend_ns(const struct trace_cursor *cursor)
{
        uint64_t took = trace_file_len_ns(cursor->file, trace_commit_end_ticks(cursor->event->b));

        return took < cursor->end_ns - cursor->begin_ns ? cursor->end_ns - took : cursor->begin_ns;
}
