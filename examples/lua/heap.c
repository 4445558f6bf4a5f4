/* SPDX-License-Identifier: MIT */
#include "examples/lua/heap.h"

#include <string.h>

/* Which list, and how long its blocks are. */
static int list_of(size_t byte_len, size_t *block_len)
{
        if (byte_len <= HEAP_SMALL) {
                *block_len = (byte_len + HEAP_UNIT - 1) / HEAP_UNIT * HEAP_UNIT;
                return (int)(*block_len / HEAP_UNIT) - 1;
        }
        int list = HEAP_SMALL / HEAP_UNIT;
        for (*block_len = (size_t)2 * HEAP_SMALL; *block_len < byte_len; *block_len *= 2)
                list++;
        return list;
}

static void *take(struct heap *heap, size_t byte_len)
{
        if (byte_len > heap->byte_len)
                return NULL;
        size_t block_len;
        const int list = list_of(byte_len, &block_len);
        void *block = heap->free[list];

        if (block) {
                heap->free[list] = *(void **)block;
        } else {
                if (block_len > heap->byte_len - heap->used)
                        return NULL;
                block = (char *)heap + heap->used;
                heap->used += block_len;
        }
        heap->given += byte_len;
        return block;
}

static void give_back(struct heap *heap, void *block, size_t byte_len)
{
        size_t block_len;
        const int list = list_of(byte_len, &block_len);

        *(void **)block = heap->free[list];
        heap->free[list] = block;
        heap->given -= byte_len;
}

void heap_make(struct heap *heap, size_t byte_len)
{
        memset(heap, 0, sizeof(*heap));
        heap->byte_len = byte_len;
        heap->used = (sizeof(*heap) + HEAP_UNIT - 1) / HEAP_UNIT * HEAP_UNIT;
}

/* Whether a block for the one length is as good for the other. */
static int is_same_block(size_t old_len, size_t new_len)
{
        size_t old_block, new_block;
        return list_of(old_len, &old_block) == list_of(new_len, &new_block);
}

void *heap_realloc(void *arg, void *old, size_t old_len, size_t new_len)
{
        struct heap *heap = arg;

        if (!old || !old_len)
                return new_len ? take(heap, new_len) : NULL;
        if (!new_len) {
                give_back(heap, old, old_len);
                return NULL;
        }
        if (new_len <= heap->byte_len && is_same_block(old_len, new_len)) {
                heap->given += new_len - old_len;
                return old;
        }
        void *block = take(heap, new_len);
        if (!block)
                return new_len < old_len ? old : NULL;
        memcpy(block, old, new_len < old_len ? new_len : old_len);
        give_back(heap, old, old_len);
        return block;
}
