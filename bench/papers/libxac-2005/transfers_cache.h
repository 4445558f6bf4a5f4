/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_LIBXAC_2005_TRANSFERS_CACHE_H
#define BENCH_PAPERS_LIBXAC_2005_TRANSFERS_CACHE_H

/*
 * The memory of the model in which search structures are analysed (A. Aggarwal, J. Vitter, 1988): a cache of so many
 * blocks of so many bytes, any block in any place, the one that was not used for longest goes first. Counts how many
 * blocks had to be brought in.
 *
 *      place_of    block -> its entry + 1, or 0: not in the cache
 *      entries     a ring by age: entries[newest].older ... ; used ones only
 */

#include <stddef.h>
#include <stdint.h>

struct cache_entry {
        uint32_t block, older, newer;
};

struct cache {
        unsigned block_shift;
        uint32_t room, used, newest; /* entries; newest: where the ring begins */
        uint32_t *place_of;
        struct cache_entry *entries;
        uint64_t transfers;
};

/* Blocks of 2^block_shift bytes in a cache of cache_bytes (two blocks at least), for addresses below byte_len. */
void cache_init(struct cache *cache, unsigned block_shift, uint64_t cache_bytes, uint64_t byte_len);
void cache_free(struct cache *cache);
void cache_touch(struct cache *cache, uint64_t at, size_t byte_len);

#endif
