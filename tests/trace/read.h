/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TRACE_READ_H
#define TESTS_TRACE_READ_H

/*
 * Reads a trace as docs say that it is to be read, and fails the test where it is not so.
 */

#include "trace/trace_format.h"

enum { READ_TRACKS_MAX = 512, READ_KINDS = TRACE_PROCESSOR + 1 };

struct read_track {
        struct trace_track track;
        uint64_t events; /* so many, numbered without a gap */
        uint64_t of_kind[READ_KINDS];
        uint64_t lost;
        struct trace_end end; /* zeros: it has not ended */
};

struct read {
        struct trace_header header;
        uint32_t tracks;
        uint64_t of_kind[READ_KINDS];
        struct read_track track[READ_TRACKS_MAX];
};

/* Is called for each event, in the order of its track; may be NULL. */
typedef void (*read_visit)(void *arg, uint32_t track, const struct trace_event *event);

/* Lasts until the next call. */
const struct read *read_trace(const char *path, read_visit visit, void *arg);

/* Nothing is left in shared memory. */
static inline int read_is_whole(const struct read *read)
{
        return !read->header.rings[0];
}

#endif
