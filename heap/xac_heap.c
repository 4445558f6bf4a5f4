/* SPDX-License-Identifier: MIT */
#include "heap/xac_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int heap_label(struct xac_heap *heap, page_no first, size_t count, uint8_t first_label, uint8_t label)
{
        struct heap_map *map = arena_write(heap->arena, map_of(group_of(first)));
        if (!map)
                return ARENA_LOST;
        uint8_t *labels = map->label + first % GROUP_PAGES;
        labels[0] = first_label;
        memset(labels + 1, label, count - 1);
        return 0;
}

uint8_t heap_label_of(const struct xac_heap *heap, page_no page)
{
        const uint32_t group = group_of(page);
        if (page_group_is_covered(heap->arena, group))
                return LABEL_NONE;
        const struct heap_map *map = arena_read(heap->arena, map_of(group));
        return map && map_is_sound(&map->pages, group) ? map->label[page % GROUP_PAGES] : LABEL_NONE;
}

_Noreturn void heap_refuse(const void *object, const char *why)
{
        fprintf(stderr, "libxac: %p was given to a function of the heap: %s\n", object, why /* safe */);
        abort();
}

uint64_t xac_heap_offset(const xac_heap *heap, const void *address)
{
        return address ? (uint64_t)((const char *)address - heap->arena->base) : 0;
}

void *xac_heap_address(const xac_heap *heap, uint64_t offset)
{
        return offset ? heap->arena->base + offset : NULL;
}
