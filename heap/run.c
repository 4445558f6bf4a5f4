/* SPDX-License-Identifier: MIT */
#include "heap/run.h"

#include <errno.h>

void *run_take(struct xac_heap *heap, size_t size, int *err)
{
        page_no first;
        const uint32_t page_bytes = heap->arena->page_bytes;
        const size_t count = size / page_bytes + !!(size % page_bytes);
        if (count >= GROUP_PAGES) {
                *err = -ENOMEM;
                return NULL;
        }
        *err = page_alloc_take_run(heap->arena, count, &first);
        if (!*err)
                *err = heap_label(heap, first, count, LABEL_RUN, LABEL_REST);
        return *err ? NULL : heap_address(heap, first, 0);
}

/* How many pages the object has that begins there. */
static size_t count_pages(const struct xac_heap *heap, const void *object)
{
        const page_no page = heap_page_of(heap, object);
        const struct heap_map *map = arena_read(heap->arena, map_of(group_of(page)));
        unsigned at = page % GROUP_PAGES;
        if (!map || !map_is_sound(&map->pages, group_of(page)) || !at || map->label[at] != LABEL_RUN)
                heap_refuse(object, "no object of the heap begins there, or it is free already");
        size_t count = 1;
        while (++at < GROUP_PAGES && map->label[at] == LABEL_REST)
                count++;
        return count;
}

size_t run_size(const struct xac_heap *heap, const void *object)
{
        return count_pages(heap, object) << heap->arena->page_shift;
}

void run_give_back(struct xac_heap *heap, void *object)
{
        const size_t count = count_pages(heap, object);
        const page_no page = heap_page_of(heap, object);
        if (!heap_label(heap, page, count, LABEL_NONE, LABEL_NONE) && page_alloc_free_run(heap->arena, page, count))
                heap_refuse(object, "its pages are free already: the heap is damaged");
}
