/* SPDX-License-Identifier: MIT */

/*
 * xac_rewire_vector on a pool that has all the memory it needs, touched (xac_rewire_pool_grow), or on one that has none
 * yet. Entries are stored as include/xac/rewire_vector.h allows it; "by push" calls xac_rewire_vector_push() for each,
 * which does not know how long they are when it is compiled.
 */

#include <xac/rewire_vector.h>

#include "bench/papers/ruma-2016/rewire.h"
#include "bench/papers/ruma-2016/vector_systems.h"
#include "bench/support/memory.h"
#include "bench/support/scratch.h"

static void *open_vector(const struct vector_system *system, uint64_t entries)
{
        /* One page more than it needs: the ceiling is not what is measured. */
        const xac_rewire_pool_options options = { .page_bytes = system->page_bytes,
                                                  .max_bytes = vector_room(entries) + system->page_bytes };
        xac_rewire_pool *pool;
        xac_rewire_vector *vector;

        must(xac_rewire_pool_create(&options, &pool), "xac_rewire_pool_create");
        if (system->is_touched)
                must(xac_rewire_pool_grow(pool, vector_room(entries) / system->page_bytes), "xac_rewire_pool_grow");
        must(xac_rewire_vector_create(pool, sizeof(uint64_t), &vector), "xac_rewire_vector_create");
        must(xac_rewire_vector_reserve(vector, VECTOR_FIRST_BYTES / sizeof(uint64_t)), "xac_rewire_vector_reserve");
        return vector;
}

static void append(void *arg, uint64_t first, uint64_t count)
{
        xac_rewire_vector *vector = arg;
        uint64_t *items = vector->items;
        size_t size = vector->count, capacity = vector->capacity;

        for (uint64_t i = 0; i < count; i++) {
                if (size == capacity) {
                        vector->count = size;
                        must(xac_rewire_vector_reserve(vector, size + 1), "xac_rewire_vector_reserve");
                        items = vector->items;
                        capacity = vector->capacity;
                }
                items[size++] = vector_entry(first + i);
        }
        vector->count = size;
}

static void append_by_push(void *arg, uint64_t first, uint64_t count)
{
        for (uint64_t i = 0; i < count; i++) {
                const uint64_t entry = vector_entry(first + i);
                must(xac_rewire_vector_push(arg, &entry), "xac_rewire_vector_push");
        }
}

static uint64_t read_random(const void *arg, uint64_t entries, uint64_t reads, uint64_t seed)
{
        const xac_rewire_vector *vector = arg;
        return vector_read_flat(vector->items, entries, reads, seed);
}

static uint64_t check(const void *arg, uint64_t entries)
{
        const xac_rewire_vector *vector = arg;
        return vector->count == entries ? vector_check_flat(vector->items, entries) : vector->count;
}

const struct vector_system vector_rewired[] = {
        { "rewired", SMALL_PAGE, 1, NULL, open_vector, append, read_random, check },
        { "rewired", HUGE_PAGE, 1, "1", open_vector, append, read_random, check },
        { "rewired", SMALL_PAGE, 0, NULL, open_vector, append, read_random, check },
        { "rewired", HUGE_PAGE, 0, NULL, open_vector, append, read_random, check },
        { "rewired, by push", SMALL_PAGE, 1, NULL, open_vector, append_by_push, read_random, check },
        { "rewired, by push", HUGE_PAGE, 1, NULL, open_vector, append_by_push, read_random, check },
        { 0 },
};
