/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_CURSOR_H
#define TOOLS_XAC_TRACE_CURSOR_H

/*
 * Walks through the events of a track, in the order in which they ended, and leaves out what makes no sense.
 */

#include "tools/xac/trace_file.h"

struct trace_cursor {
        const struct trace_file *file;
        const struct trace_file_track *track;
        struct trace_event copy[2]; /* of what was judged: the file may change */
        const struct trace_event *event;
        const struct trace_event *bytes; /* CONFLICT: the TRACE_BYTES that came with it; NULL: none did */
        uint64_t begin_ns;
        uint64_t end_ns;
        uint64_t processor_ns;               /* for so long of that the thread had a processor, as far as it is known */
        uint64_t odd;                        /* events left out so far */
        const struct trace_event *odd_first; /* of them */
        uint64_t at;                         /* in the chunk */
        uint32_t chunk;
};

void trace_cursor_begin(struct trace_cursor *cursor, const struct trace_file *file,
                        const struct trace_file_track *track);
/* False: no more. The event is never a TRACE_BYTES, TRACE_PROCESSOR or TRACE_NAME, and its kind and time make sense.
 * Its pages, files and commits may be any number. */
bool trace_cursor_next(struct trace_cursor *cursor);
/* The same, but names are told, too: of a TRACE_NAME that is whole `name`, of TRACE_FILE_NAME_MAX + 1 bytes. */
bool trace_cursor_next_or_name(struct trace_cursor *cursor, char *name);

/* Bytes of a page that somebody changed. */
struct trace_bytes {
        uint64_t parts; /* a bit for each sixty-fourth of the page in which some were */
        uint32_t first; /* exactly; first > last: none */
        uint32_t last;
};

/* What the cursor's TRACE_BYTES says: first, last and parts fit each other, and the page. */
void trace_cursor_bytes(const struct trace_cursor *cursor, struct trace_bytes *others, struct trace_bytes *own);

/* Of a TRACE_COMMIT that waited for the disk: when xend() was called. */
uint64_t trace_cursor_xend_ns(const struct trace_cursor *cursor);

#endif
