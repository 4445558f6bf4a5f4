/* SPDX-License-Identifier: MIT */
#ifndef TREES_EHASH_CACHE_H
#define TREES_EHASH_CACHE_H

/*
 * A flat copy of a table's directory, in memory of the handle: the first bits of a hash value lead to a page at once.
 *
 *      | 7 7 | 0 0 | 12 | 31 | 8 8 |          0: not known
 *
 * It may be old, as others split buckets, and what it learned in a transaction may be undone. So who finds a record
 * there has found it (E1 in ehash.h); who does not asks the directory, and the cache learns from that. It stays small:
 * as long as a slot of it stands for more than one bucket, one of them is looked up in the directory.
 */

#include <stdint.h>

#include "pages/arena.h"

enum { EHASH_CACHE_BITS_MIN = 4, EHASH_CACHE_BITS_MAX = 26 };

struct ehash_cache {
        page_no *page; /* NULL: nothing is known */
        unsigned bits;
};

void ehash_cache_free(struct ehash_cache *cache);

/* PAGE_NONE: not known. */
static inline page_no ehash_cache_page(const struct ehash_cache *cache, uint64_t hash)
{
        return cache->page ? cache->page[hash >> (64 - cache->bits)] : PAGE_NONE;
}

/* What has become of the copy: all of it is other, or some slots are, or none. */
struct ehash_lesson {
        bool is_anew;
        uint32_t first, count;
};

/* Hash values that begin with the same `depth` bits as this one lead to a page. `pages`: of the arena, the more there
 * are the larger it may become. Without memory nothing is learned. */
struct ehash_lesson ehash_cache_learn(struct ehash_cache *cache, uint64_t hash, unsigned depth, page_no page,
                                      uint64_t pages);

#endif
