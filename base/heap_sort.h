/* SPDX-License-Identifier: MIT */
#ifndef BASE_HEAP_SORT_H
#define BASE_HEAP_SORT_H

/*
 * Sorts numbers in place, without malloc and without recursion: for what may run in a signal handler, on a small stack.
 * (J. W. J. Williams, Algorithm 232, 1964.)
 */

#include <stdbool.h>
#include <stdint.h>

typedef bool (*heap_is_less)(const void *arg, uint32_t a, uint32_t b);

static inline void heap_sift_down(uint32_t *items, uint32_t root, uint32_t count, heap_is_less is_less, const void *arg)
{
        for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
                uint32_t item = items[root];

                if (child + 1 < count && is_less(arg, items[child], items[child + 1]))
                        child++;
                if (!is_less(arg, item, items[child]))
                        return;
                items[root] = items[child];
                items[child] = item;
        }
}

static inline void heap_sort(uint32_t *items, uint32_t count, heap_is_less is_less, const void *arg)
{
        for (uint32_t i = count / 2; i-- > 0;)
                heap_sift_down(items, i, count, is_less, arg);
        for (uint32_t end = count; end-- > 1;) {
                uint32_t last = items[end];

                items[end] = items[0];
                items[0] = last;
                heap_sift_down(items, 0, end, is_less, arg);
        }
}

#endif
