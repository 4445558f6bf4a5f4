/* SPDX-License-Identifier: MIT */
#ifndef HEAP_SMALL_H
#define HEAP_SMALL_H

/*
 * Objects in slabs.
 *
 * Where a thread takes an object: from the page on top of its bin for the class, which is the one that it freed to
 * last; else from a page with room that it, or somebody who is gone, has left behind; else from a page of its group.
 * One page is written, the object's own.
 */

#include "heap/xac_heap.h"

/* NULL: *err says why. */
void *small_take(struct xac_heap *heap, uint32_t size_class, int *err);
/* It lies in no page's beginning. False: it is still there, as it may have a name. */
bool small_give_back(struct xac_heap *heap, void *object, bool is_nameless);
bool small_is_marked(const struct xac_heap *heap, const void *object);
/* One more object of its page has a name; or one less. ARENA_LOST. */
int small_mark(struct xac_heap *heap, const void *object, bool has_name);
size_t small_size(const struct xac_heap *heap, const void *object);

#endif
