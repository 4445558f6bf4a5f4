/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/support/memory.h"
#include "bench/support/scratch.h"

static void order_pages(struct pages *pages, uint64_t first, uint64_t seed)
{
        struct page_order order;

        pages->number = malloc(pages->count * sizeof(*pages->number));
        must(pages->number ? 0 : -ENOMEM, "memory");
        page_order_make(&order, pages->count, seed);
        for (uint64_t i = 0; i < pages->count; i++)
                pages->number[i] = first + (pages->way.is_random ? page_order_take(&order) : i);
        page_order_free(&order);
}

void pages_prepare(struct pages *pages, const struct pages_way *way, uint64_t bytes, uint64_t seed)
{
        const xac_rewire_pool_options options = { .page_bytes = way->page_bytes, .max_bytes = bytes };
        uint64_t first;

        *pages = (struct pages){ .way = *way, .count = bytes / way->page_bytes };
        if (way->kind == PAGES_ANONYMOUS)
                return;
        must(xac_rewire_pool_create(&options, &pages->pool), "xac_rewire_pool_create");
        must(xac_rewire_pool_take(pages->pool, pages->count, &first), "xac_rewire_pool_take");
        order_pages(pages, first, seed);
}

/* Aligned for pages of any size. */
static int allocate_anonymous(struct pages *pages)
{
        const size_t byte_len = pages->count * pages->way.page_bytes;

        pages->mapped = memory_reserve(byte_len + HUGE_PAGE);
        pages->flat = (uint64_t *)(pages->mapped + (-(uintptr_t)pages->mapped & (HUGE_PAGE - 1)));
        madvise(pages->flat, byte_len, pages->way.page_bytes == HUGE_PAGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        return 0;
}

static int allocate_indirect(struct pages *pages)
{
        pages->directory = malloc(pages->count * sizeof(*pages->directory));
        must(pages->directory ? 0 : -ENOMEM, "memory");
        for (uint64_t i = 0; i < pages->count; i++)
                pages->directory[i] = xac_rewire_pool_page(pages->pool, pages->number[i]);
        return 0;
}

static int allocate_rewired(struct pages *pages)
{
        must(xac_rewire_area_create(pages->pool, pages->count, pages->way.is_private ? XAC_REWIRE_PRIVATE : 0,
                                    &pages->area),
             "xac_rewire_area_create");
        pages->flat = xac_rewire_area_address(pages->area);
        if (!pages->way.is_random)
                return xac_rewire_area_map(pages->area, 0, pages->number[0], pages->count);
        return xac_rewire_area_map_each(pages->area, 0, pages->number, pages->count);
}

int pages_allocate(struct pages *pages)
{
        if (pages->way.kind == PAGES_ANONYMOUS)
                return allocate_anonymous(pages);
        return pages->way.kind == PAGES_INDIRECT ? allocate_indirect(pages) : allocate_rewired(pages);
}

void pages_free(struct pages *pages)
{
        if (pages->mapped)
                memory_free(pages->mapped, pages->count * pages->way.page_bytes + HUGE_PAGE);
        free(pages->directory);
        free(pages->number);
        xac_rewire_area_destroy(pages->area);
        must(xac_rewire_pool_destroy(pages->pool), "xac_rewire_pool_destroy");
}

uint64_t *pages_words(const struct pages *pages, uint64_t page)
{
        if (pages->directory)
                return pages->directory[page];
        return pages->flat + page * (pages->way.page_bytes / sizeof(uint64_t));
}

const char *pages_order_name(const struct pages_way *way)
{
        if (way->kind == PAGES_ANONYMOUS)
                return "-";
        return way->is_random ? "random" : "sequence";
}
