/* SPDX-License-Identifier: MIT */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

/* Looking for a number in ascending items of any size, each of which has one as its key. */

#include <stddef.h>
#include <stdint.h>

/* The first of `count` items whose key is not below `least`; count: none. `keys` is the first item's key, and others
 * lie `stride` bytes apart. */
static inline uint32_t search_first(const uint64_t *keys, uint32_t count, size_t stride, uint64_t least)
{
        uint32_t low = 0, high = count;

        while (low < high) {
                const uint32_t middle = low + (high - low) / 2;

                if (*(const uint64_t *)(const void *)((const char *)keys + middle * stride) < least)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

#endif
