/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TOOLS_TRACE_MAKE_H
#define TESTS_TOOLS_TRACE_MAKE_H

/*
 * Makes traces (trace/trace_format.h) in memory, as a collector would, or worse. Times are ns since the beginning; a
 * tick is half of one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace_format.h"

enum { TRACE_MAKE_TRACKS = 16, TRACE_MAKE_PENDING = 256, TRACE_MAKE_PAGE = 4096 };

struct trace_make_track {
        struct trace_event pending[TRACE_MAKE_PENDING]; /* in no block yet */
        uint32_t pending_count;
        uint64_t written;
        uint64_t lost;
};

struct trace_make {
        unsigned char *bytes; /* at a multiple of eight */
        size_t byte_len;
        size_t room;
        struct trace_make_track track[TRACE_MAKE_TRACKS];
        uint32_t track_count;
        bool has_processor; /* tracks that begin from here on tell for how long they had one */
};

void trace_make_begin(struct trace_make *make);
void trace_make_free(struct trace_make *make);
struct trace_header *trace_make_header(struct trace_make *make);

/* A thread of a program, in one of several environments. */
uint32_t trace_make_track(struct trace_make *make, unsigned env, const char *program, uint32_t pid, uint32_t tid);
uint32_t trace_make_background(struct trace_make *make, unsigned env, const char *program, uint32_t pid);
/* What is pending becomes a block first. */
void trace_make_end(struct trace_make *make, uint32_t track, enum trace_end_how how, uint64_t open_ns);

void trace_make_event(struct trace_make *make, uint32_t track, enum trace_kind kind, unsigned flags, uint64_t begin_ns,
                      uint64_t len_ns, uint64_t a, uint64_t b);
/* One that wrote, and that was `end_ns` in xend(). */
void trace_make_commit(struct trace_make *make, uint32_t track, unsigned flags, uint64_t begin_ns, uint64_t len_ns,
                       uint64_t number, uint64_t end_ns);
void trace_make_name(struct trace_make *make, uint32_t track, uint32_t file_no, const char *name);

struct trace_make_range {
        uint32_t first, last; /* first > last: none */
};

/* The loser's transaction; who won, by the number of the commit; and what both have changed. */
void trace_make_conflict(struct trace_make *make, uint32_t track, uint64_t begin_ns, uint64_t len_ns, uint64_t page,
                         uint64_t winner, struct trace_make_range others, struct trace_make_range own);

/* Behind a transaction: for how long its thread had a processor. */
void trace_make_processor(struct trace_make *make, uint32_t track, uint64_t ns);

/* The pending events of a track become a block. */
void trace_make_flush(struct trace_make *make, uint32_t track);
/* A block, whatever is in it. */
void trace_make_block(struct trace_make *make, const struct trace_block *block, const void *bytes, size_t byte_len);
/* All that is pending becomes blocks, and the header says how long the file is, and the trace took. */
void trace_make_finish(struct trace_make *make, uint64_t took_ns);

#endif
