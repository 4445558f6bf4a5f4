/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_PART_H
#define TOOLS_XAC_TRACE_PART_H

/*
 * Which part of a trace is shown, where all of it would be too much: a stretch of time with at most so many events, and
 * with the most conflicts.
 */

#include "tools/xac/trace_file.h"

struct trace_part {
        uint64_t from_ns; /* since the trace began */
        uint64_t to_ns;   /* not itself */
        uint64_t all; /* events of the trace, those that have begun but not ended when their process died included */
        bool is_narrowed; /* to fit: it is less than what was asked for */
};

/* Of what lies in from_ns .. to_ns. 0 or -ENOMEM. */
int trace_part_choose(const struct trace_file *file, uint64_t from_ns, uint64_t to_ns, uint64_t events_max,
                      struct trace_part *part);

/* Is any of it there? */
static inline bool trace_part_has(const struct trace_part *part, uint64_t begin_ns, uint64_t end_ns)
{
        return begin_ns < part->to_ns && end_ns >= part->from_ns;
}

#endif
