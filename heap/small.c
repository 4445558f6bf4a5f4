/* SPDX-License-Identifier: MIT */
#include "heap/small.h"

#include <errno.h>
#include <string.h>

#include "heap/slab.h"

enum {
        LOOKS = 4,        /* slabs that are looked at before a page is taken from the group */
        GROUPS_LOOKS = 4, /* groups of others, before one is added to the file */
        NO_PAGE = PAGE_NONE
};

/* ---- bins ---- */

static page_no bin_top(const struct bin *bin)
{
        return bin->count ? bin->page[bin->top % BIN_PAGES] : NO_PAGE;
}

static void bin_push(struct xac_heap *heap, struct bin *bin, page_no page)
{
        if (bin_top(bin) == page)
                return;
        bin->page[++bin->top % BIN_PAGES] = page;
        if (bin->count < BIN_PAGES)
                bin->count++;
        else
                heap->forgotten++;
}

static void bin_pop(struct bin *bin)
{
        bin->top--;
        bin->count--;
}

/* ---- a slab to take from ---- */

static bool is_mine(const struct xac_heap *heap, const struct slab *slab, uint32_t size_class)
{
        return slab->kind == PAGE_IS_SLAB && slab->size_class == size_class && slab->owner == heap->self &&
               slab->free_count;
}

/* Of those in the bin. K1: what is not as it was is dropped. */
static page_no look_in_bin(struct xac_heap *heap, uint32_t size_class)
{
        struct bin *bin = &heap->bin[size_class];
        for (; bin->count; bin_pop(bin)) {
                const struct slab *slab = arena_read(heap->arena, bin_top(bin));
                if (slab && is_mine(heap, slab, size_class))
                        return bin_top(bin);
        }
        return NO_PAGE;
}

/* Nobody allocates there, or somebody who is gone. */
static bool is_deserted(const struct xac_heap *heap, uint64_t owner)
{
        return !owner || owner == heap->self || xac_alive(heap->arena->env, owner) == 0;
}

/* The map of a group where nobody else takes pages; NULL: there is none. */
static const struct heap_map *quiet_map(const struct xac_heap *heap, uint32_t group)
{
        if (page_group_is_covered(heap->arena, group))
                return NULL;
        const struct heap_map *map = arena_read(heap->arena, map_of(group));
        const bool is_quiet = map && map_is_sound(&map->pages, group) && page_group_is_quiet(heap->arena, &map->pages);
        return is_quiet ? map : NULL;
}

/* Looks at some slabs of the class in a group, from a page of it on, and takes over the first that has room. Leaves
 * where the next look is to go on; GROUP_PAGES: with another group. */
static page_no look_in_group(struct xac_heap *heap, uint32_t group, uint32_t size_class, uint32_t *page)
{
        const struct heap_map *map = quiet_map(heap, group);
        uint32_t at = *page;
        *page = GROUP_PAGES;
        for (int looks = 0; map && at < GROUP_PAGES; at++) {
                if (map->label[at] != LABEL_SLAB + size_class)
                        continue;
                if (looks++ == LOOKS) {
                        *page = at;
                        return NO_PAGE;
                }
                const page_no found = map_of(group) + at;
                const struct slab *slab = arena_read(heap->arena, found);
                if (slab && slab->kind == PAGE_IS_SLAB && slab->size_class == size_class && slab->free_count &&
                    is_deserted(heap, slab->owner)) {
                        *page = at + 1;
                        return found;
                }
        }
        return NO_PAGE;
}

/* In the groups that it once took pages from, as long as there is something in them that it has forgotten. */
static page_no look_in_own_groups(struct xac_heap *heap, uint32_t size_class)
{
        const uint32_t kept = heap->group_count < GROUPS_KEPT ? heap->group_count : GROUPS_KEPT;
        if (!heap->forgotten || !kept)
                return NO_PAGE;
        if (heap->cursor >= kept) {
                heap->cursor = 0;
                heap->forgotten /= 2;
        }
        page_no found = look_in_group(heap, heap->group[heap->cursor], size_class, &heap->page);
        if (heap->page == GROUP_PAGES) {
                heap->cursor++;
                heap->page = 0;
        }
        return found;
}

/* In groups of the file at random, before it becomes longer. */
static page_no look_in_other_groups(struct xac_heap *heap, uint32_t size_class)
{
        uint32_t groups;
        if (heap->arena->own_group != NO_GROUP || page_group_count(heap->arena, &groups))
                return NO_PAGE;
        for (uint32_t i = 0; i < GROUPS_LOOKS && groups; i++) {
                uint32_t page = 0;
                page_no found = look_in_group(heap, arena_random(heap->arena) % groups, size_class, &page);
                if (found != NO_PAGE)
                        return found;
        }
        return NO_PAGE;
}

/* The oldest is forgotten. */
static void remember_group(struct xac_heap *heap, uint32_t group)
{
        if (!heap->group_count || heap->group[(heap->group_count - 1) % GROUPS_KEPT] != group)
                heap->group[heap->group_count++ % GROUPS_KEPT] = group;
}

static int make_slab(struct xac_heap *heap, uint32_t size_class, page_no *page)
{
        int err = page_alloc_take_many(heap->arena, page, 1);
        if (!err)
                err = heap_label(heap, *page, 1, (uint8_t)(LABEL_SLAB + size_class), LABEL_NONE);
        if (err)
                return err;
        remember_group(heap, group_of(*page));
        struct slab *slab = arena_write(heap->arena, *page);
        if (!slab)
                return ARENA_LOST;
        slab_make(slab, size_class, &heap->classes.of[size_class], heap->self);
        return 0;
}

/* One that is not in the bin. */
static int find_slab(struct xac_heap *heap, uint32_t size_class, page_no *page)
{
        *page = look_in_own_groups(heap, size_class);
        if (*page == NO_PAGE)
                *page = look_in_other_groups(heap, size_class);
        if (*page == NO_PAGE)
                return make_slab(heap, size_class, page);
        struct slab *slab = arena_write(heap->arena, *page);
        if (!slab)
                return ARENA_LOST;
        slab->owner = heap->self;
        return 0;
}

void *small_take(struct xac_heap *heap, uint32_t size_class, int *err)
{
        struct bin *bin = &heap->bin[size_class];
        page_no page = look_in_bin(heap, size_class);
        if (page == NO_PAGE) {
                *err = find_slab(heap, size_class, &page);
                if (*err)
                        return NULL;
                bin_push(heap, bin, page);
        }
        struct slab *slab = arena_write(heap->arena, page);
        const uint32_t at = slab ? slab_take(slab, &heap->classes.of[size_class]) : 0;
        if (!at) {
                *err = slab ? XAC_CORRUPT : ARENA_LOST;
                return NULL;
        }
        if (!slab->free_count) {
                slab->owner = 0; /* whoever frees one first may have it */
                bin_pop(bin);
        }
        return heap_address(heap, page, at);
}

/* ---- giving back ---- */

/* The bytes of a larger object may look like a slab: the label tells. It is not asked where this thread takes objects
 * just now, whose label it has written or read: so most pairs of malloc and free read no map. */
static bool is_slab(const struct xac_heap *heap, const struct slab *slab, page_no page)
{
        if (slab->kind != PAGE_IS_SLAB || slab->size_class >= heap->classes.count)
                return false;
        return (slab->owner == heap->self && bin_top(&heap->bin[slab->size_class]) == page) ||
               heap_label_of(heap, page) == LABEL_SLAB + slab->size_class;
}

/* The number of an object on its page, which is always reached: by translation. */
static inline void find_object(const struct xac_heap *heap, const struct slab *slab, page_no page, const void *object,
                               uint32_t *number)
{
        if (!is_slab(heap, slab, page) ||
            !slab_finds(&heap->classes.of[slab->size_class], heap_within(heap, object), number))
                heap_refuse(object, "no object of the heap begins there");
        if (slab_is_free(slab, *number))
                heap_refuse(object, "it is free already");
}

size_t small_size(const struct xac_heap *heap, const void *object)
{
        uint32_t number;
        const page_no page = heap_page_of(heap, object);
        const struct slab *slab = arena_read(heap->arena, page);
        find_object(heap, slab, page, object, &number);
        return heap->classes.of[slab->size_class].size;
}

/* Nobody's objects are on it any more: the page is free for all sizes. An error leaves an empty slab. */
static void give_back_page(struct xac_heap *heap, struct slab *slab, page_no page)
{
        struct bin *bin = &heap->bin[slab->size_class];
        if (heap_label(heap, page, 1, LABEL_NONE, LABEL_NONE) || page_alloc_free(heap->arena, page))
                return;
        slab->kind = PAGE_FRESH; /* K1: no bin leads there any more */
        slab->owner = 0;
        if (bin_top(bin) == page)
                bin_pop(bin);
}

/* It is to be written: so it is asked for once, for that. */
bool small_give_back(struct xac_heap *heap, void *object, bool is_nameless)
{
        uint32_t number;
        const page_no page = heap_page_of(heap, object);
        struct slab *slab = arena_write(heap->arena, page);
        find_object(heap, slab, page, object, &number);
        if (slab->named_count && !is_nameless)
                return false;
        const struct size_class *class = &heap->classes.of[slab->size_class];
        slab_give_back(slab, number);
        /* Who is gone is looked for only where it is worth it. */
        if (!slab->owner ||
            (slab->owner != heap->self && slab->free_count > class->count / 2 && is_deserted(heap, slab->owner)))
                slab->owner = heap->self;
        if (slab->owner != heap->self)
                return true;
        struct bin *bin = &heap->bin[slab->size_class];
        bin_push(heap, bin, page);
        if (slab->free_count == class->count && bin->count > 1)
                give_back_page(heap, slab, page);
        return true;
}

/* ---- marks ---- */

bool small_is_marked(const struct xac_heap *heap, const void *object)
{
        const struct slab *slab = arena_read(heap->arena, heap_page_of(heap, object));
        return slab->named_count;
}

int small_mark(struct xac_heap *heap, const void *object, bool has_name)
{
        struct slab *slab = arena_write(heap->arena, heap_page_of(heap, object));
        if (!slab)
                return ARENA_LOST;
        slab->named_count =
                (uint16_t)(has_name ? slab->named_count + 1 : slab->named_count - (slab->named_count ? 1 : 0));
        return 0;
}
