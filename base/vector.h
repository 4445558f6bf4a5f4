/* SPDX-License-Identifier: MIT */
#ifndef BASE_VECTOR_H
#define BASE_VECTOR_H

/*
 * A growable array on its own mapping, so that it may grow inside a signal handler, where
 * malloc may not be called. Items may move when it grows; indices stay.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vector {
        void *items;
        uint32_t count;
        uint32_t capacity;
};

/* vector_grow() calls this function when the kernel refuses a mapping. It unmaps what rewire/mappings.h keeps for that
 * moment, and returns whether there was any. NULL: there is no such function yet. Async-signal-safe. */
extern bool (*_Atomic vector_last_resort)(void);

/* Makes room for `count` items of item_len bytes. 0 or -ENOMEM; nothing lost on failure. */
int vector_grow(struct vector *vector, uint32_t count, size_t item_len);
void vector_free(struct vector *vector, size_t item_len);

static inline int vector_reserve(struct vector *vector, uint32_t count, size_t item_len)
{
        return count <= vector->capacity ? 0 : vector_grow(vector, count, item_len);
}

#endif
