/* SPDX-License-Identifier: MIT */
#include "heap/check.h"

/*
 * Every byte accounted for (K3), whatever bytes stand there: each group's map, each page by its label, each slab's
 * bitmap, each root's object.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "heap/slab.h"

bool check_is_too_much(const struct check *check)
{
        return check->findings >= FINDINGS_MAX;
}

void check_find(struct check *check, const char *format, ...)
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
                check_find(check, "page %u: it is labelled a slab of %u bytes, but is none in which the numbers agree",
                           page, class->size);
                return;
        }
        if (slab->named_count)
                check_named(check, page, slab, class);
        const uint64_t live = class->count - slab->free_count;
        check->stats->live_objects += live;
        check->stats->live_bytes += live * class->size;
        check->stats->slab_free += (uint64_t)slab->free_count * class->size;
}

static void check_run_page(struct check *check, page_no page, uint8_t label)
{
        const uint64_t page_bytes = check->heap->arena->page_bytes;
        if (label == LABEL_REST && !check->run_pages)
                check_find(check, "page %u: it is labelled as the rest of an object, but none lies before it", page);
        check->run_pages = label != LABEL_REST ? 1 : check->run_pages + 1;
        check->stats->live_objects += label != LABEL_REST;
        if (label == LABEL_NAMED_RUN)
                check_named_run(check, page);
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
                check_find(check, "page %u: it is free, but labelled %u", page, label);
        if (is_free) {
                check->stats->free_bytes += page_bytes;
        } else if (label == LABEL_RUN || label == LABEL_REST || label == LABEL_NAMED_RUN) {
                check_run_page(check, page, label);
        } else if (label >= LABEL_SLAB && label - LABEL_SLAB < (int)check->heap->classes.count) {
                check->stats->slab_bytes += page_bytes;
                check_slab(check, page, label - LABEL_SLAB);
        } else {
                check->stats->kept_bytes += page_bytes;
                if (label == LABEL_ROOTS)
                        check->roots_pages++;
                else
                        check_find(check, "page %u: it is taken, but labelled %u: nobody has it", page, label);
        }
}

/* Part of the object that fills the group before it. */
static void check_covered(struct check *check, uint32_t group)
{
        const uint64_t bytes = (uint64_t)GROUP_PAGES << check->heap->arena->page_shift;
        if (check->run_pages < GROUP_PAGES - 1)
                check_find(check, "page %u: its group belongs to the object before, but there is none", map_of(group));
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
                check_find(check, "page %u: it is not the map of its group", map_of(group));
                return;
        }
        for (page_no at = 0; at < fixed; at++)
                if (map->label[at])
                        check_find(check, "page %u: it has a fixed place, but is labelled %u", map_of(group) + at,
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
                        check_find(check, "page %u: an object extends beyond the last group", PAGE_HEADER);
                        return;
                }
        }
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
                check_find(check, "page %u: it is not the header of a heap", PAGE_HEADER);
        if (err)
                return err;
        check->stats->file_bytes = ((uint64_t)groups * GROUP_PAGES) << check->heap->arena->page_shift;
        for (uint32_t group = 0; group < groups && !check_is_too_much(check); group++)
                check_group(check, group);
        check_covers(check, groups);
        if (!check_is_too_much(check))
                check_roots(check);
        if (check_is_too_much(check))
                check_find(check, "too much is damaged: the rest was not looked at");
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
