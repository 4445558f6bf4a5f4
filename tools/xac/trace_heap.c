/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_heap.h"

#include <stdlib.h>

struct trace_heap *trace_heap_at(const struct trace_heaps *heaps, uint32_t env, uint32_t file_no)
{
        for (uint32_t i = 0; i < heaps->count; i++)
                if (heaps->all[i].env == env && heaps->all[i].file_no == file_no)
                        return &heaps->all[i];
        return NULL;
}

void trace_heaps_free(struct trace_heaps *heaps)
{
        for (uint32_t i = 0; i < heaps->count; i++) {
                for (uint32_t r = 0; r < heaps->all[i].root_count; r++)
                        free(heaps->all[i].roots[r].name);
                free(heaps->all[i].roots);
        }
        free(heaps->all);
}

const struct trace_heap *trace_heap_of(const struct trace_heaps *heaps, uint32_t env, uint64_t page)
{
        const struct trace_heap *heap = trace_heap_at(heaps, env, trace_page_file(page));

        return heap && heap->is_heap ? heap : NULL;
}

const struct trace_heap_root *trace_heap_next(const struct trace_heap *heap, uint32_t *at, uint64_t page,
                                              uint32_t page_bytes, uint32_t *first, uint32_t *last)
{
        const uint64_t begin = (uint64_t)trace_page_no(page) * page_bytes, end = begin + page_bytes;

        while (*at < heap->root_count) {
                const struct trace_heap_root *root = &heap->roots[(*at)++];

                if (root->offset >= end || root->offset + root->size <= begin)
                        continue;
                *first = root->offset > begin ? (uint32_t)(root->offset - begin) : 0;
                *last = root->offset + root->size < end ? (uint32_t)(root->offset + root->size - begin - 1)
                                                        : page_bytes - 1;
                return root;
        }
        return NULL;
}
