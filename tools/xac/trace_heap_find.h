/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_HEAP_FIND_H
#define TOOLS_XAC_TRACE_HEAP_FIND_H

/*
 * Reads the names of the heaps in which transactions lost. A trace may be anybody's, and names any directory. So this
 * is done only where it was asked for, and only of the environment that was traced. Names are those of now.
 */

#include "tools/xac/trace_heap.h"

/* Looks at the files of the first `top` pages. False: a complaint was made. */
bool trace_heaps_find(struct trace_heaps *heaps, const struct trace_file *file, const struct trace_sum *sum,
                      uint64_t top);

#endif
