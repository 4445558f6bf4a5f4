/* SPDX-License-Identifier: MIT */
#include "bench/papers/libxac-2005/transfers_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/support/scratch.h"

static void *new_array(uint64_t count, size_t byte_len)
{
        void *array = calloc(count, byte_len);
        if (!array)
                scratch_fail(-ENOMEM, "a cache");
        return array;
}

void cache_init(struct cache *cache, unsigned block_shift, uint64_t cache_bytes, uint64_t byte_len)
{
        *cache = (struct cache){ .block_shift = block_shift, .room = (uint32_t)(cache_bytes >> block_shift) };
        cache->place_of = new_array((byte_len >> block_shift) + 1, sizeof(*cache->place_of));
        cache->entries = new_array(cache->room, sizeof(*cache->entries));
}

void cache_free(struct cache *cache)
{
        free(cache->place_of);
        free(cache->entries);
        *cache = (struct cache){ .room = 0 };
}

/* Between the newest and the oldest, as the newest. (The first one: zeros link entry 0 with itself.) */
static void link_newest(struct cache *cache, uint32_t at)
{
        struct cache_entry *entries = cache->entries;
        const uint32_t older = cache->newest, newer = entries[older].newer;

        entries[at].older = older;
        entries[at].newer = newer;
        entries[older].newer = at;
        entries[newer].older = at;
        cache->newest = at;
}

static void unlink_entry(struct cache *cache, uint32_t at)
{
        struct cache_entry *entries = cache->entries;
        entries[entries[at].older].newer = entries[at].newer;
        entries[entries[at].newer].older = entries[at].older;
}

/* A full ring turns by one: the oldest entry becomes the newest as it stands. */
static void bring_in(struct cache *cache, uint32_t block)
{
        uint32_t at;

        cache->transfers++;
        if (cache->used < cache->room) {
                at = cache->used++;
                link_newest(cache, at);
        } else {
                at = cache->newest = cache->entries[cache->newest].newer;
                cache->place_of[cache->entries[at].block] = 0;
        }
        cache->entries[at].block = block;
        cache->place_of[block] = at + 1;
}

static void touch_block(struct cache *cache, uint32_t block)
{
        const uint32_t place = cache->place_of[block];

        if (!place) {
                bring_in(cache, block);
        } else if (place - 1 != cache->newest) {
                unlink_entry(cache, place - 1);
                link_newest(cache, place - 1);
        }
}

void cache_touch(struct cache *cache, uint64_t at, size_t byte_len)
{
        const uint64_t last = (at + byte_len - 1) >> cache->block_shift;
        for (uint64_t block = at >> cache->block_shift; byte_len && block <= last; block++)
                touch_block(cache, (uint32_t)block);
}
