/* SPDX-License-Identifier: MIT */
#include "heap/objects.h"

#include <string.h>

#include "heap/run.h"
#include "heap/slab.h"
#include "heap/small.h"

/* ---- bytes of objects ---- */

enum { UNIT = 1 << XAC_TRANSLATE_SHIFT };

size_t object_piece(const void *address, size_t len)
{
        const size_t room = UNIT - ((uintptr_t)address & (UNIT - 1));
        return len < room ? len : room;
}

void object_zero(void *object, size_t len)
{
        for (char *at = object; len;) {
                const size_t piece = object_piece(at, len);
                memset(xac_for_write(at), 0, piece);
                at += piece;
                len -= piece;
        }
}

/* ---- small ones and large ones ---- */

void *object_take(struct xac_heap *heap, size_t size, int *err)
{
        return size <= heap->classes.size_max ? small_take(heap, size_class_for(&heap->classes, size), err)
                                              : run_take(heap, size, err);
}

/* Ends the program if it lies outside of the heap. */
static void check_inside(const struct xac_heap *heap, const void *object)
{
        const uint64_t number = (uint64_t)((const char *)object - heap->arena->base) >> heap->arena->page_shift;
        if (number > UINT32_MAX || page_alloc_reach(heap->arena, (page_no)number))
                heap_refuse(object, "it is not in the heap");
}

bool object_give_back(struct xac_heap *heap, void *object, bool is_nameless)
{
        check_inside(heap, object);
        return heap_within(heap, object) ? small_give_back(heap, object, is_nameless)
                                         : run_give_back(heap, object, is_nameless);
}

size_t object_size(const struct xac_heap *heap, const void *object)
{
        check_inside(heap, object);
        return heap_within(heap, object) ? small_size(heap, object) : run_size(heap, object);
}

bool object_is_marked(const struct xac_heap *heap, const void *object)
{
        return heap_within(heap, object) ? small_is_marked(heap, object) : run_is_marked(heap, object);
}

int object_mark(struct xac_heap *heap, const void *object, bool has_name)
{
        return heap_within(heap, object) ? small_mark(heap, object, has_name) : run_mark(heap, object, has_name);
}

/* ---- an offset that is only said to be an object's ---- */

static uint64_t run_room(const struct xac_heap *heap, page_no page, const struct heap_map *map)
{
        const uint8_t *label = &map->label[page % GROUP_PAGES], *end = map->label + GROUP_PAGES;
        uint64_t pages = 1;
        while (++label < end && *label == LABEL_REST)
                pages++;
        if (label == end)
                pages += (uint64_t)page_group_covered_by(heap->arena, group_of(page)) * GROUP_PAGES;
        return pages << heap->arena->page_shift;
}

uint64_t object_room(const struct xac_heap *heap, uint64_t offset)
{
        const uint64_t number = offset >> heap->arena->page_shift;
        const uint32_t at = (uint32_t)(offset & (heap->arena->page_bytes - 1));
        uint32_t index;
        if (number >= UINT32_MAX || page_alloc_reach(heap->arena, (page_no)number))
                return 0;
        const uint8_t label = heap_label_of(heap, (page_no)number);
        if (!at && (label == LABEL_RUN || label == LABEL_NAMED_RUN))
                return run_room(heap, (page_no)number, arena_read(heap->arena, map_of(group_of((page_no)number))));
        if (label < LABEL_SLAB || label - LABEL_SLAB >= (int)heap->classes.count)
                return 0;
        const struct size_class *class = &heap->classes.of[label - LABEL_SLAB];
        const struct slab *slab = arena_read(heap->arena, (page_no)number);
        if (!slab || !slab_finds(class, at, &index))
                return 0;
        return slab_is_free(slab, index) ? 0 : class->size;
}
