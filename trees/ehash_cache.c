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

void ehash_cache_learn(struct ehash_cache *cache, uint64_t hash, unsigned depth, page_no page, uint64_t pages)
{
        if (!cache->page && !begin(cache))
                return;
        if (depth > cache->bits) {
                const unsigned most = most_bits(pages), bits = depth < most ? depth : most;
                if (bits > cache->bits)
                        grow(cache, bits);
        }
        const unsigned more = depth < cache->bits ? cache->bits - depth : 0;
        const size_t first = (size_t)(hash >> (64 - cache->bits)) >> more << more;
        for (size_t i = first; i < first + ((size_t)1 << more); i++)
                cache->page[i] = page;
}
