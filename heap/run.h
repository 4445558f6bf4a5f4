/* SPDX-License-Identifier: MIT */
#ifndef HEAP_RUN_H
#define HEAP_RUN_H

/*
 * Objects larger than half a page: pages side by side, which the labels of their group's map tell. So they begin on a
 * page, and are as long as pages are. Taking and freeing them writes the map.
 */

#include "heap/xac_heap.h"

/* NULL: *err says why. */
void *run_take(struct xac_heap *heap, size_t size, int *err);
/* It begins on a page. False: it is still there, as it has a name. */
bool run_give_back(struct xac_heap *heap, void *object, bool is_nameless);
bool run_is_marked(const struct xac_heap *heap, const void *object);
/* That it has a name, or none any more. ARENA_LOST. */
int run_mark(struct xac_heap *heap, const void *object, bool has_name);
size_t run_size(const struct xac_heap *heap, const void *object);

#endif
