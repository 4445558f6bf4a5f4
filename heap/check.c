/* SPDX-License-Identifier: MIT */
#include "heap/xac_heap.h"

/*
 * Every byte accounted for (K3), whatever bytes stand there: each group's map, each page by its label, each slab's
 * bitmap, each root's object.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "heap/roots.h"
#include "heap/slab.h"

struct check {
        struct xac_heap *heap;
        xac_heap_stats *stats;
        void (*finding)(void *arg, const char *text);
        void *arg;
        uint64_t findings;
        uint64_t roots_pages; /* by labels, and the first */
        size_t run_pages;     /* of the run that the last page belongs to; 0: to none */
};

/* A header may say that there are half a million groups, where there is a hole of as many: each page of it that is
 * looked at takes memory. */
enum { FINDINGS_MAX = 10000 };

static bool is_too_much(const struct check *check)
{
        return check->findings >= FINDINGS_MAX;
}

__attribute__((format(printf, 2, 3))) static void find(struct check *check, const char *format, ...)
{
        char text[256];
        va_list args;
        check->findings++;
        if (!check->finding)
                return;
        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        check->finding(check->arg, text);
}

/* ---- pages ---- */

static void check_slab(struct check *check, page_no page, uint32_t size_class)
{
        const struct size_class *class = &check->heap->classes.of[size_class];
        const struct slab *slab = arena_read(check->heap->arena, page);
        if (!slab || !slab_is_sound(slab, size_class, class)) {
                find(check, "page %u: it is labelled a slab of %u bytes, but is none in which the numbers agree", page,
                     class->size);
                return;
        }
        const uint64_t live = class->count - slab->free_count;
        check->stats->live_objects += live;
        check->stats->live_bytes += live * class->size;
        check->stats->slab_free += (uint64_t)slab->free_count * class->size;
}

static void check_run_page(struct check *check, page_no page, uint8_t label)
{
        const uint64_t page_bytes = check->heap->arena->page_bytes;
        if (label == LABEL_REST && !check->run_pages)
                find(check, "page %u: it is labelled as the rest of an object, but none lies before it", page);
        check->run_pages = label == LABEL_RUN ? 1 : check->run_pages + 1;
        check->stats->live_objects += label == LABEL_RUN;
        check->stats->live_bytes += page_bytes;
        check->stats->run_bytes += page_bytes;
}

static void check_page(struct check *check, const struct heap_map *map, page_no page)
{
        const uint64_t page_bytes = check->heap->arena->page_bytes;
        const bool is_free = map_says_free(&map->pages, page);
        const uint8_t label = map->label[page % GROUP_PAGES];
        if (label != LABEL_REST)
                check->run_pages = 0;
        if (is_free && label)
                find(check, "page %u: it is free, but labelled %u", page, label);
        if (is_free) {
                check->stats->free_bytes += page_bytes;
        } else if (label == LABEL_RUN || label == LABEL_REST) {
                check_run_page(check, page, label);
        } else if (label >= LABEL_SLAB && label - LABEL_SLAB < (int)check->heap->classes.count) {
                check->stats->slab_bytes += page_bytes;
                check_slab(check, page, label - LABEL_SLAB);
        } else {
                check->stats->kept_bytes += page_bytes;
                if (label == LABEL_ROOTS)
                        check->roots_pages++;
                else
                        find(check, "page %u: it is taken, but labelled %u: nobody has it", page, label);
        }
}

/* Part of the object that fills the group before it. */
static void check_covered(struct check *check, uint32_t group)
{
        const uint64_t bytes = (uint64_t)GROUP_PAGES << check->heap->arena->page_shift;
        if (check->run_pages < GROUP_PAGES - 1)
                find(check, "page %u: its group belongs to the object before, but there is none", map_of(group));
        check->run_pages += GROUP_PAGES;
        check->stats->run_bytes += bytes;
        check->stats->live_bytes += bytes;
}

static void check_group(struct check *check, uint32_t group)
{
        if (page_group_is_covered(check->heap->arena, group)) {
                check_covered(check, group);
                return;
        }
        const uint64_t page_bytes = check->heap->arena->page_bytes;
        const struct heap_map *map = arena_read(check->heap->arena, map_of(group));
        const page_no fixed = group ? 1 : PAGES_FIXED;
        check->run_pages = 0;
        check->stats->kept_bytes += fixed * page_bytes;
        if (!map || !map_is_sound(&map->pages, group)) {
                check->stats->kept_bytes += (GROUP_PAGES - fixed) * page_bytes;
                find(check, "page %u: it is not the map of its group", map_of(group));
                return;
        }
        for (page_no at = 0; at < fixed; at++)
                if (map->label[at])
                        find(check, "page %u: it has a fixed place, but is labelled %u", map_of(group) + at,
                             map->label[at]);
        for (page_no at = fixed; at < GROUP_PAGES; at++)
                check_page(check, map, map_of(group) + at);
}

/* No group that the file does not have is part of an object. */
static void check_covers(struct check *check, uint32_t groups)
{
        const struct arena_header *header = arena_read(check->heap->arena, PAGE_HEADER);
        const uint32_t words = header ? header_can_cover(check->heap->arena->page_bytes) / 64 : 0;
        for (uint32_t word = groups / 64; word < words; word++) {
                const uint64_t there = word == groups / 64 ? (UINT64_C(1) << groups % 64) - 1 : 0;
                if (header->covered[word] & ~there) {
                        find(check, "page %u: an object extends beyond the last group", PAGE_HEADER);
                        return;
                }
        }
}

/* ---- roots ---- */

/* As long as the object can be used; 0: no object is there. */
static uint64_t object_bytes(const struct check *check, uint64_t offset)
{
        const struct xac_heap *heap = check->heap;
        const uint64_t number = offset >> heap->arena->page_shift;
        uint32_t at = (uint32_t)(offset & (heap->arena->page_bytes - 1)), index;
        if (number >= UINT32_MAX || page_alloc_reach(heap->arena, (page_no)number))
                return 0;
        const struct heap_map *map = arena_read(heap->arena, map_of(group_of((page_no)number)));
        if (!map)
                return 0;
        const uint8_t *label = &map->label[number % GROUP_PAGES], *end = map->label + GROUP_PAGES;
        if (!at && *label == LABEL_RUN) {
                uint64_t pages = 1;
                while (++label < end && *label == LABEL_REST)
                        pages++;
                if (label == end)
                        pages += (uint64_t)page_group_covered_by(heap->arena, group_of((page_no)number)) * GROUP_PAGES;
                return pages << heap->arena->page_shift;
        }
        if (*label < LABEL_SLAB || *label - LABEL_SLAB >= (int)heap->classes.count)
                return 0;
        const struct size_class *class = &heap->classes.of[*label - LABEL_SLAB];
        const struct slab *slab = arena_read(heap->arena, (page_no)number);
        if (!slab || !slab_finds(class, at, &index))
                return 0;
        return slab_is_free(slab, index) ? 0 : class->size;
}

static void check_root(struct check *check, const struct root_entry *entry)
{
        check->stats->roots++;
        if (!entry->name[0] || entry->name[XAC_HEAP_NAME_MAX]) {
                find(check, "a root has no name that ends");
                return;
        }
        const uint64_t room = object_bytes(check, entry->offset);
        if (!entry->size || entry->size > room)
                find(check, "root '%s': its object of %llu bytes is not there", entry->name,
                     (unsigned long long)entry->size);
}

static void check_roots(struct check *check)
{
        uint64_t pages = 0;
        const struct roots_page *roots;
        for (page_no page = PAGE_CATALOG; page != PAGE_NONE && !is_too_much(check); page = roots->next) {
                roots = roots_page_at(check->heap, page);
                if (!roots || ++pages > check->roots_pages) {
                        find(check, "page %u: it is not a page of roots, or of a circle of them", page);
                        return;
                }
                if (roots->base && (page != PAGE_CATALOG || roots->base != (uintptr_t)check->heap->arena->base))
                        find(check, "page %u: it says that the heap was made elsewhere", page);
                for (uint32_t i = 0; i < roots_per_page(check->heap) && !is_too_much(check); i++)
                        if (roots->entry[i].offset)
                                check_root(check, &roots->entry[i]);
        }
        if (pages != check->roots_pages && !is_too_much(check))
                find(check, "%llu pages of roots are in no chain", (unsigned long long)(check->roots_pages - pages));
}

/* ---- all of it ---- */

static int check_all(void *check_)
{
        struct check *check = check_;
        uint32_t groups;
        memset(check->stats, 0, sizeof(*check->stats));
        check->findings = 0;
        check->roots_pages = 1;
        int err = page_group_count(check->heap->arena, &groups);
        if (!err && !groups)
                err = XAC_CORRUPT; /* opening has made one */
        if (err == XAC_CORRUPT)
                find(check, "page %u: it is not the header of a heap", PAGE_HEADER);
        if (err)
                return err;
        check->stats->file_bytes = ((uint64_t)groups * GROUP_PAGES) << check->heap->arena->page_shift;
        for (uint32_t group = 0; group < groups && !is_too_much(check); group++)
                check_group(check, group);
        check_covers(check, groups);
        if (!is_too_much(check))
                check_roots(check);
        if (is_too_much(check))
                find(check, "too much is damaged: the rest was not looked at");
        return check->findings ? XAC_CORRUPT : 0;
}

int xac_heap_check(xac_heap *heap, xac_heap_stats *stats, void (*finding)(void *arg, const char *text), void *arg)
{
        xac_heap_stats unused = { 0 };
        if (!heap)
                return -EINVAL;
        struct check check = { .heap = heap, .stats = stats ? stats : &unused, .finding = finding, .arg = arg };
        return arena_run(heap->arena, XAC_RDONLY, check_all, &check);
}
