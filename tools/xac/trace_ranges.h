/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_RANGES_H
#define TOOLS_XAC_TRACE_RANGES_H

/*
 * Which bytes of a page several transactions have changed: ranges in ascending order that do not overlap. Neighbours
 * stay apart, as they may be different things; if there are too many, the two that are closest become one.
 */

#include <stdbool.h>
#include <stdio.h>

#include "tools/xac/trace_cursor.h"

enum { TRACE_RANGES_MAX = 16, TRACE_RANGES_TEXT = 512 };

#define TRACE_RANGES_SEVERAL UINT32_MAX

struct trace_range {
        uint32_t first, last;
        uint32_t track; /* who changed them; TRACE_RANGES_SEVERAL */
        uint64_t count; /* how often */
};

struct trace_ranges {
        struct trace_range range[TRACE_RANGES_MAX + 1]; /* one more for a moment */
        uint32_t count;
        bool is_merged; /* there were more */
};

void trace_ranges_add(struct trace_ranges *ranges, struct trace_range range);
/* What was changed together: a range for each run of parts, so at most so much. */
void trace_ranges_add_bytes(struct trace_ranges *ranges, const struct trace_bytes *bytes, uint32_t page_bytes,
                            uint32_t track);
/* Of others, what is in parts of the page in which there is no range yet. What several have changed one after the other
 * looks like one range: where others were seen to change less, that is nearer to the truth. */
void trace_ranges_add_parts(struct trace_ranges *ranges, const struct trace_ranges *others, uint32_t page_bytes);
/* Do several tracks change the page, and nearly always each its own range? */
bool trace_ranges_are_owned(const struct trace_ranges *ranges);
/* "bytes 0-7, 64-71 and 128"; of many the first six, and how many more. */
void trace_ranges_text(const struct trace_ranges *ranges, char text[TRACE_RANGES_TEXT]);

#endif
