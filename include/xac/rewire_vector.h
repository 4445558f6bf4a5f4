/* SPDX-License-Identifier: MIT */
#ifndef XAC_REWIRE_VECTOR_H
#define XAC_REWIRE_VECTOR_H

/*
 * An array that grows without copying: when it is full, its pages are shown again at other addresses, and as many fresh
 * pages of the pool behind them.
 *
 *         xac_rewire_vector_create(pool, sizeof(uint64_t), &vector);
 *         xac_rewire_vector_push(vector, &number);
 *         uint64_t *numbers = vector->items;                   // until it grows
 *
 * One thread at a time. The idea is that of the rewired vector of F. M. Schuhknecht and others (RUMA has it, 2016);
 * what is in the page tables moves along (xac_rewire_area_move), which they did not have. For C++ there is
 * xac::rewired_vector (rewire_vector.hpp).
 */

#include <string.h>

#include <xac/rewire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be read; only `count` may be changed, to anything up to capacity. What lies behind count is undefined. */
typedef struct xac_rewire_vector {
        void *items;
        size_t count;
        size_t capacity;
        size_t item_len; /* bytes */
} xac_rewire_vector;

/* -EINVAL: item_len is 0 or more than a page. The vector may hold as much as the pool. */
int xac_rewire_vector_create(xac_rewire_pool *pool, size_t item_len, xac_rewire_vector **vector);
/* Gives its pages back. NULL does nothing. */
void xac_rewire_vector_destroy(xac_rewire_vector *vector);
/* Room for so many items, at least double of what there was if it has to grow. Nothing has changed after -ENOSPC or
 * -ENOMEM. */
int xac_rewire_vector_reserve(xac_rewire_vector *vector, size_t count);
/* Gives back what pages are not needed for `count` items. */
void xac_rewire_vector_shrink(xac_rewire_vector *vector);

/* The length of an item is known at run time only. A program that knows it may store to `items` itself, and count, as
 * long as count is below capacity: that takes an eighth of the time. */
static inline int xac_rewire_vector_push(xac_rewire_vector *vector, const void *item)
{
        if (vector->count == vector->capacity) {
                int err = xac_rewire_vector_reserve(vector, vector->count + 1);
                if (err)
                        return err;
        }
        memcpy((char *)vector->items + vector->count++ * vector->item_len, item, vector->item_len);
        return 0;
}

#ifdef __cplusplus
}
#endif

#endif
