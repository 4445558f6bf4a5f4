/* SPDX-License-Identifier: MIT */
#include "tests/tools/trace_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

enum { TICKS_BEGIN = 1000000000, TICKS_PER_NS = 2 };

static uint64_t ticks_at(uint64_t ns)
{
        return TICKS_BEGIN + ns * TICKS_PER_NS;
}

static void put(struct trace_make *make, const void *bytes, size_t byte_len)
{
        if (make->byte_len + byte_len > make->room) {
                make->room = (make->byte_len + byte_len) * 2;
                make->bytes = realloc(make->bytes, make->room);
                check(make->bytes != NULL);
        }
        if (byte_len)
                memcpy(make->bytes + make->byte_len, bytes, byte_len);
        make->byte_len += byte_len;
}

struct trace_header *trace_make_header(struct trace_make *make)
{
        return (void *)make->bytes;
}

void trace_make_begin(struct trace_make *make)
{
        static const unsigned char zeros[TRACE_HEADER_BYTES];
        struct trace_header *header;

        *make = (struct trace_make){ 0 };
        put(make, zeros, sizeof(zeros));
        header = trace_make_header(make);
        memcpy(header->magic, TRACE_MAGIC, sizeof(header->magic));
        header->version = TRACE_VERSION;
        header->ticks[0] = ticks_at(0);
        header->ns[0] = 777777;
        header->real_ns = INT64_C(1790000000000000000);
}

void trace_make_free(struct trace_make *make)
{
        free(make->bytes);
        *make = (struct trace_make){ 0 };
}

/* ---- Blocks ---- */

void trace_make_block(struct trace_make *make, const struct trace_block *block, const void *bytes, size_t byte_len)
{
        put(make, block, sizeof(*block));
        put(make, bytes, byte_len);
}

void trace_make_flush(struct trace_make *make, uint32_t track_no)
{
        struct trace_make_track *track = &make->track[track_no];
        const struct trace_block block = { .kind = TRACE_BLOCK_EVENTS,
                                           .byte_len = (uint32_t)(track->pending_count * sizeof(struct trace_event)),
                                           .track = track_no,
                                           .first = track->written,
                                           .lost = track->lost };

        if (!track->pending_count)
                return;
        trace_make_block(make, &block, track->pending, block.byte_len);
        track->written += track->pending_count;
        track->pending_count = 0;
}

void trace_make_finish(struct trace_make *make, uint64_t took_ns)
{
        struct trace_header *header;

        for (uint32_t i = 0; i < make->track_count; i++)
                trace_make_flush(make, i);
        header = trace_make_header(make);
        header->byte_len = make->byte_len;
        header->ticks[1] = ticks_at(took_ns);
        header->ns[1] = header->ns[0] + took_ns;
}

static uint32_t begin_track(struct trace_make *make, unsigned env, struct trace_track *track, const char *program)
{
        const struct trace_block block = { .kind = TRACE_BLOCK_TRACK,
                                           .byte_len = sizeof(*track),
                                           .track = make->track_count };

        check(make->track_count < TRACE_MAKE_TRACKS);
        track->at = ticks_at(0);
        track->page_bytes = TRACE_MAKE_PAGE;
        track->flags |= make->has_processor ? TRACE_TRACK_PROCESSOR : 0;
        memset(track->uuid, (int)(0x11 * (env + 1)), sizeof(track->uuid));
        snprintf(track->program, sizeof(track->program), "%s", program);
        snprintf(track->path, sizeof(track->path), "/data/env%u", env);
        trace_make_block(make, &block, track, sizeof(*track));
        return make->track_count++;
}

uint32_t trace_make_track(struct trace_make *make, unsigned env, const char *program, uint32_t pid, uint32_t tid)
{
        struct trace_track track = { .pid = pid, .tid = tid, .row = make->track_count };

        return begin_track(make, env, &track, program);
}

uint32_t trace_make_background(struct trace_make *make, unsigned env, const char *program, uint32_t pid)
{
        struct trace_track track = { .pid = pid, .row = UINT32_MAX, .flags = TRACE_TRACK_BACKGROUND };

        return begin_track(make, env, &track, program);
}

void trace_make_end(struct trace_make *make, uint32_t track, enum trace_end_how how, uint64_t open_ns)
{
        const struct trace_end end = { .how = how, .begun = open_ns ? ticks_at(open_ns) : 0 };
        const struct trace_block block = { .kind = TRACE_BLOCK_END, .byte_len = sizeof(end), .track = track };

        trace_make_flush(make, track);
        trace_make_block(make, &block, &end, sizeof(end));
}

/* ---- Events ---- */

static void add(struct trace_make *make, uint32_t track_no, const struct trace_event *event)
{
        struct trace_make_track *track = &make->track[track_no];

        if (track->pending_count == TRACE_MAKE_PENDING)
                trace_make_flush(make, track_no);
        track->pending[track->pending_count++] = *event;
}

void trace_make_event(struct trace_make *make, uint32_t track, enum trace_kind kind, unsigned flags, uint64_t begin_ns,
                      uint64_t len_ns, uint64_t a, uint64_t b)
{
        const struct trace_event event = { ticks_at(begin_ns), trace_what(kind, flags, len_ns * TICKS_PER_NS), a, b };

        add(make, track, &event);
}

void trace_make_commit(struct trace_make *make, uint32_t track, unsigned flags, uint64_t begin_ns, uint64_t len_ns,
                       uint64_t number, uint64_t end_ns)
{
        trace_make_event(make, track, TRACE_COMMIT, flags, begin_ns, len_ns, number,
                         trace_commit_pack(3, 2, end_ns * TICKS_PER_NS));
}

void trace_make_name(struct trace_make *make, uint32_t track, uint32_t file_no, const char *name)
{
        const struct trace_event event = { ticks_at(1), trace_what(TRACE_NAME, 0, strlen(name)), file_no, 0 };

        add(make, track, &event);
        for (size_t at = 0; at < strlen(name); at += sizeof(event)) {
                struct trace_event part = { 0 };
                size_t left = strlen(name) - at;

                memcpy(&part, name + at, left < sizeof(part) ? left : sizeof(part));
                add(make, track, &part);
        }
}

/* Those of its first and its last byte: what is between them was not touched. */
static uint64_t parts_of(struct trace_make_range range)
{
        const uint32_t part_bytes = TRACE_MAKE_PAGE / TRACE_PARTS;

        if (range.first > range.last)
                return 0;
        return UINT64_C(1) << range.first / part_bytes | UINT64_C(1) << range.last / part_bytes;
}

void trace_make_conflict(struct trace_make *make, uint32_t track, uint64_t begin_ns, uint64_t len_ns, uint64_t page,
                         uint64_t winner, struct trace_make_range others, struct trace_make_range own)
{
        const struct trace_event bytes = { trace_ranges_pack(others.first, others.last, own.first, own.last),
                                           trace_what(TRACE_BYTES, 0, 0), parts_of(others), parts_of(own) };

        trace_make_event(make, track, TRACE_CONFLICT, TRACE_AGAIN, begin_ns, len_ns, page, winner);
        if (page != TRACE_PAGE_UNKNOWN)
                add(make, track, &bytes);
}

void trace_make_processor(struct trace_make *make, uint32_t track, uint64_t ns)
{
        const struct trace_event event = { ticks_at(0), trace_what(TRACE_PROCESSOR, 0, 0), ns, 0 };

        add(make, track, &event);
}
