/* SPDX-License-Identifier: MIT */
#ifndef HEAP_OBJECTS_H
#define HEAP_OBJECTS_H

/* Objects of any size, and the calls that a program makes. What follows is for a transaction that is open. */

#include "heap/xac_heap.h"

/* NULL: *err says why. */
void *object_take(struct xac_heap *heap, size_t size, int *err);
void object_give_back(struct xac_heap *heap, void *object);
/* As large as it can be used. */
size_t object_size(const struct xac_heap *heap, const void *object);
void object_zero(void *object, size_t len);

#endif
