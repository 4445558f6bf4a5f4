/* SPDX-License-Identifier: MIT */
#include "tests/trace/read.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/scratch.h"

static struct read seen;

static void see_event(struct read_track *track, uint32_t no, const struct trace_event *event, read_visit visit,
                      void *arg)
{
        const enum trace_kind kind = trace_kind_of(event);
        check(kind >= TRACE_COMMIT && kind <= TRACE_PROCESSOR);
        track->of_kind[kind]++;
        seen.of_kind[kind]++;
        if (visit)
                visit(arg, no, event);
}

/* The events that hold a name are none. */
static uint64_t length_of(const struct trace_event *event)
{
        const uint64_t len = trace_kind_of(event) == TRACE_NAME ? trace_len_of(event) : 0;
        return 1 + (len + sizeof(*event) - 1) / sizeof(*event);
}

static void see_events(const struct trace_block *block, const struct trace_event *event, read_visit visit, void *arg)
{
        struct read_track *track = &seen.track[block->track];
        const uint64_t count = block->byte_len / sizeof(*event);
        check_equal(block->byte_len % sizeof(*event), 0);
        check(block->first <= track->events); /* no gap */
        for (uint64_t i = 0; i < count;) {
                const uint64_t length = length_of(&event[i]);
                check(i + length <= count);
                if (block->first + i >= track->events) {
                        see_event(track, block->track, &event[i], visit, arg);
                        track->events = block->first + i + length;
                }
                i += length;
        }
        track->lost = block->lost;
}

static void see_block(const struct trace_block *block, const void *bytes, read_visit visit, void *arg)
{
        check(block->track < READ_TRACKS_MAX);
        struct read_track *track = &seen.track[block->track];
        if (block->track >= seen.tracks)
                seen.tracks = block->track + 1;
        switch (block->kind) {
        case TRACE_BLOCK_TRACK:
                check_equal(block->byte_len, sizeof(track->track));
                memcpy(&track->track, bytes, sizeof(track->track));
                break;
        case TRACE_BLOCK_EVENTS:
                check(track->track.pid);
                check(!track->end.how);
                see_events(block, bytes, visit, arg);
                break;
        case TRACE_BLOCK_END:
                check_equal(block->byte_len, sizeof(track->end));
                memcpy(&track->end, bytes, sizeof(track->end));
                track->lost = block->lost;
                break;
        default:
                check_failed(__FILE__, __LINE__, "a block of kind %u", block->kind);
        }
}

const struct read *read_trace(const char *path, read_visit visit, void *arg)
{
        const long long byte_len = scratch_file_size(path);
        check(byte_len >= TRACE_HEADER_BYTES);
        char *bytes = malloc((size_t)byte_len);
        check(bytes != NULL);
        scratch_read_file(path, bytes, (size_t)byte_len);
        memset(&seen, 0, sizeof(seen));
        memcpy(&seen.header, bytes, sizeof(seen.header));
        check(!memcmp(seen.header.magic, TRACE_MAGIC, sizeof(seen.header.magic)));
        check(seen.header.byte_len <= (uint64_t)byte_len);
        for (uint64_t at = TRACE_HEADER_BYTES; at < seen.header.byte_len;) {
                struct trace_block block;
                memcpy(&block, bytes + at, sizeof(block));
                at += sizeof(block);
                check(at + block.byte_len <= seen.header.byte_len);
                see_block(&block, bytes + at, visit, arg);
                at += block.byte_len;
        }
        free(bytes);
        return &seen;
}
