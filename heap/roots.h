/* SPDX-License-Identifier: MIT */
#ifndef HEAP_ROOTS_H
#define HEAP_ROOTS_H

/* Objects with names: in two trees (roots_tree.h), or, in an older heap, in a chain (roots_chain.h). */

#include "heap/roots_chain.h"
#include "heap/roots_tree.h"

/* The first page, of a heap whose pointers are right at `base`; NULL: it holds none. */
int roots_make(struct xac_heap *heap, const void *base);
/* Also notes whether the roots are a chain. -EADDRNOTAVAIL: its pointers lead elsewhere; XAC_CORRUPT. */
int roots_check_place(struct xac_heap *heap);

/* In a transaction: is the object one with a name? Where the roots are damaged, it is not. */
bool roots_have(struct xac_heap *heap, const void *object);
/* A chain of several pages becomes trees, so that frees need not look through it. Failing that, it stays a chain. */
void roots_shorten(struct xac_heap *heap);

#endif
