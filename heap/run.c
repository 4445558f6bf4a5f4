/* SPDX-License-Identifier: MIT */
#include "heap/run.h"

#include <errno.h>

/* More than a group has: from the second page of one on, through those that it covers. */
static void *take_groups(struct xac_heap *heap, size_t count, int *err)
{
        uint32_t first = 0;
        const size_t groups = count / GROUP_PAGES + 1;
        *err = groups > UINT32_MAX / GROUP_PAGES ? -ENOMEM : 0;
        if (!*err)
                *err = page_group_take_run(heap->arena, (uint32_t)groups, &first);
        if (!*err)
                *err = heap_label(heap, map_of(first) + 1, GROUP_PAGES - 1, LABEL_RUN, LABEL_REST);
        return *err ? NULL : heap_address(heap, map_of(first) + 1, 0);
}

void *run_take(struct xac_heap *heap, size_t size, int *err)
{
        page_no first = PAGE_NONE;
        const uint32_t page_bytes = heap->arena->page_bytes;
        const size_t count = size / page_bytes + !!(size % page_bytes);
        if (count >= GROUP_PAGES)
                return take_groups(heap, count, err);
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
        const uint8_t label = at ? heap_label_of(heap, page) : LABEL_NONE;
        if (label != LABEL_RUN && label != LABEL_NAMED_RUN)
                heap_refuse(object, "no object of the heap begins there, or it is free already");
        size_t count = 1;
        while (++at < GROUP_PAGES && map->label[at] == LABEL_REST)
                count++;
        if (at == GROUP_PAGES)
                count += (size_t)page_group_covered_by(heap->arena, group_of(page)) * GROUP_PAGES;
        return count;
}

size_t run_size(const struct xac_heap *heap, const void *object)
{
        return count_pages(heap, object) << heap->arena->page_shift;
}

static int give_back(struct xac_heap *heap, page_no page, size_t count)
{
        const size_t labelled = count < GROUP_PAGES ? count : GROUP_PAGES - 1;
        int err = heap_label(heap, page, labelled, LABEL_NONE, LABEL_NONE);
        if (err)
                return err;
        return count < GROUP_PAGES
                       ? page_alloc_free_run(heap->arena, page, count)
                       : page_group_free_run(heap->arena, group_of(page), (uint32_t)(count / GROUP_PAGES) + 1);
}

bool run_give_back(struct xac_heap *heap, void *object, bool is_nameless)
{
        const size_t count = count_pages(heap, object);
        if (!is_nameless && run_is_marked(heap, object))
                return false;
        if (give_back(heap, heap_page_of(heap, object), count))
                heap_refuse(object, "its pages are free already: the heap is damaged");
        return true;
}

bool run_is_marked(const struct xac_heap *heap, const void *object)
{
        return heap_label_of(heap, heap_page_of(heap, object)) == LABEL_NAMED_RUN;
}

int run_mark(struct xac_heap *heap, const void *object, bool has_name)
{
        const page_no page = heap_page_of(heap, object);
        struct heap_map *map = arena_write(heap->arena, map_of(group_of(page)));
        if (!map)
                return ARENA_LOST;
        map->label[page % GROUP_PAGES] = has_name ? LABEL_NAMED_RUN : LABEL_RUN;
        return 0;
}
