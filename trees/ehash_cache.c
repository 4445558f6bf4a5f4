/* SPDX-License-Identifier: MIT */
#include "trees/ehash_cache.h"

#include <stdlib.h>

void ehash_cache_free(struct ehash_cache *cache)
{
        free(cache->page);
        *cache = (struct ehash_cache){ 0 };
}

static bool begin(struct ehash_cache *cache)
{
        cache->page = calloc((size_t)1 << EHASH_CACHE_BITS_MIN, sizeof(*cache->page));
        if (cache->page)
                cache->bits = EHASH_CACHE_BITS_MIN;
        return cache->page != NULL;
}

/* Each slot becomes several, which lead where it did. From the last on, as they lie in the same memory. */
static void grow(struct ehash_cache *cache, unsigned bits)
{
        const unsigned more = bits - cache->bits;
        page_no *page = realloc(cache->page, sizeof(*page) << bits);
        if (!page)
                return;
        for (size_t i = (size_t)1 << bits; i-- > 0;)
                page[i] = page[i >> more];
        cache->page = page;
        cache->bits = bits;
}

/* Eight slots for each page of the arena are enough, whatever some buckets want. */
static unsigned most_bits(uint64_t pages)
{
        unsigned bits = EHASH_CACHE_BITS_MIN;
        while (bits < EHASH_CACHE_BITS_MAX && UINT64_C(1) << bits < 8 * pages)
                bits++;
        return bits;
}

/* Whether it was another page in one of the slots. */
static bool set_slots(struct ehash_cache *cache, size_t first, size_t count, page_no page)
{
        bool is_changed = false;
        for (size_t i = first; i < first + count; i++) {
                is_changed |= cache->page[i] != page;
                cache->page[i] = page;
        }
        return is_changed;
}

struct ehash_lesson ehash_cache_learn(struct ehash_cache *cache, uint64_t hash, unsigned depth, page_no page,
                                      uint64_t pages)
{
        const unsigned before = cache->bits;
        struct ehash_lesson lesson = { 0 };
        if (!cache->page && !begin(cache))
                return lesson;
        if (depth > cache->bits) {
                const unsigned most = most_bits(pages), bits = depth < most ? depth : most;
                if (bits > cache->bits)
                        grow(cache, bits);
        }
        const unsigned more = depth < cache->bits ? cache->bits - depth : 0;
        const size_t first = (size_t)(hash >> (64 - cache->bits)) >> more << more, count = (size_t)1 << more;
        lesson.is_anew = cache->bits != before;
        if (set_slots(cache, first, count, page)) {
                lesson.first = (uint32_t)first;
                lesson.count = (uint32_t)count;
        }
        return lesson;
}
