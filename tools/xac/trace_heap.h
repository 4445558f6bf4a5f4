/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_HEAP_H
#define TOOLS_XAC_TRACE_HEAP_H

/*
 * The heaps (libxacheap) in which transactions lost, if they were asked for (--heap): what has a name is named beside
 * page and byte.
 */

#include "tools/xac/trace_sum.h"

/* A root that lies in one of the pages that are told. */
struct trace_heap_root {
        char *name; /* printable */
        uint64_t offset;
        uint64_t size;
};

/* A file that holds a heap. */
struct trace_heap {
        uint32_t env;
        uint32_t file_no;
        bool is_heap; /* false: it was looked at, and is none, or could not be opened */
        struct trace_heap_root *roots;
        uint32_t root_count;
};

struct trace_heaps {
        struct trace_heap *all;
        uint32_t count;
};

void trace_heaps_free(struct trace_heaps *heaps);

/* Of a file, whether it holds a heap or not; NULL: nobody looked. */
struct trace_heap *trace_heap_at(const struct trace_heaps *heaps, uint32_t env, uint32_t file_no);
/* NULL: it holds none, or nobody looked. */
const struct trace_heap *trace_heap_of(const struct trace_heaps *heaps, uint32_t env, uint64_t page);
/* The next root from *at on, of which bytes first to last of the page are a part; NULL: no more. */
const struct trace_heap_root *trace_heap_next(const struct trace_heap *heap, uint32_t *at, uint64_t page,
                                              uint32_t page_bytes, uint32_t *first, uint32_t *last);

#endif
