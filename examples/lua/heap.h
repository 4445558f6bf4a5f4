/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LUA_HEAP_H
#define EXAMPLES_LUA_HEAP_H

/*
 * A serial allocator, as anybody would write it for a piece of memory: lists of free blocks by size, and behind the
 * last block what was never used. It knows nothing of transactions, files or other processes.
 *
 *      | struct heap | block | block | ...            | never used |
 *      heap                                           used         byte_len
 */

#include <stddef.h>

/* Up to 256 bytes by 16, then by powers of two. */
enum { HEAP_UNIT = 16, HEAP_SMALL = 256, HEAP_LISTS = 64 };

struct heap {
        size_t byte_len, used;
        size_t given; /* bytes of blocks that are in use, as they were asked for */
        void *free[HEAP_LISTS];
};

void heap_make(struct heap *heap, size_t byte_len);
/* As realloc(), where the caller knows how long the old block is: lua_Alloc; `arg` is the heap. NULL: the new length is
 * 0, or there is no room. A shorter block is always there. */
void *heap_realloc(void *arg, void *old, size_t old_len, size_t new_len);

#endif
