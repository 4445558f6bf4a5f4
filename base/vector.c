/* SPDX-License-Identifier: MIT */
#include "base/vector.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/sys.h"

enum { VECTOR_MIN_BYTES = 4096 };

static size_t mapped_len(uint32_t capacity, size_t item_len)
{
        size_t byte_len = capacity * item_len;
        return (byte_len + VECTOR_MIN_BYTES - 1) / VECTOR_MIN_BYTES * VECTOR_MIN_BYTES;
}

static uint64_t first_capacity(size_t item_len)
{
        return item_len < VECTOR_MIN_BYTES ? VECTOR_MIN_BYTES / item_len : 1;
}

bool (*_Atomic vector_last_resort)(void);

/* MAP_POPULATE: a page that is read first and written then costs two faults, and the other processors an interrupt. */
static int map_items(const struct vector *vector, size_t item_len, size_t new_len, void **items)
{
        if (vector->items)
                return sys_mremap(vector->items, mapped_len(vector->capacity, item_len), new_len, items);
        return sys_mmap(NULL, new_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0,
                        items);
}

int vector_grow(struct vector *vector, uint32_t count, size_t item_len)
{
        uint64_t capacity = vector->capacity ? 2 * (uint64_t)vector->capacity : first_capacity(item_len);
        while (capacity < count)
                capacity *= 2;
        if (capacity > UINT32_MAX / 2)
                return -ENOMEM;

        void *items;
        size_t new_len = mapped_len((uint32_t)capacity, item_len);
        int err = map_items(vector, item_len, new_len, &items);
        bool (*give_up)(void) = atomic_load(&vector_last_resort);
        if (err && give_up && give_up())
                err = map_items(vector, item_len, new_len, &items);
        if (err)
                return -ENOMEM;
        vector->items = items;
        vector->capacity = (uint32_t)capacity;
        return 0;
}

void vector_free(struct vector *vector, size_t item_len)
{
        if (vector->items)
                sys_munmap(vector->items, mapped_len(vector->capacity, item_len));
        *vector = (struct vector){ 0 };
}
