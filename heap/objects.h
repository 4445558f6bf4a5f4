/* SPDX-License-Identifier: MIT */
#ifndef HEAP_OBJECTS_H
#define HEAP_OBJECTS_H

/* Objects of any size, in a transaction that is open. */

#include "heap/xac_heap.h"

/* NULL: *err says why. */
void *object_take(struct xac_heap *heap, size_t size, int *err);
/* False: it is still there, for its mark says that it may have a name, and the caller does not say that it has none. */
bool object_give_back(struct xac_heap *heap, void *object, bool is_nameless);
/* As large as it can be used. */
size_t object_size(const struct xac_heap *heap, const void *object);
void object_zero(void *object, size_t len);
/* Of so many bytes there, those that one translation serves. */
size_t object_piece(const void *address, size_t len);

/* K4. Whether it may have a name; and that it has one, or none any more (ARENA_LOST). It is an object. */
bool object_is_marked(const struct xac_heap *heap, const void *object);
int object_mark(struct xac_heap *heap, const void *object, bool has_name);
/* As large as the object can be used that is said to be there; 0: there is none. */
uint64_t object_room(const struct xac_heap *heap, uint64_t offset);

#endif
