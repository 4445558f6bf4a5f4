/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/sys.h"

enum { LEAST = 8, LEAST_SLOTS = 64 };

/* It is full whenever the count is a power of two: so nobody need keep how much room there is. */
void *trace_list_room(void *items, uint64_t count, size_t item_len)
{
        if (count != 0 && (count < LEAST || (count & (count - 1)) != 0))
                return items;
        if (count > SIZE_MAX / 2 / item_len)
                return NULL;
        return realloc(items, (size_t)(count ? count * 2 : LEAST) * item_len);
}

/* Who writes a trace chooses its numbers, and could choose such that all want the same slot. Nobody can choose so
 * without the keys, which are others in each process. */
struct keys {
        uint64_t first, second;
};

static const struct keys *keys_of_process(void)
{
        static struct keys keys;
        static bool is_made;

        if (!is_made && sys_random(&keys, sizeof(keys)))
                keys = (struct keys){ sys_monotonic_ns(), sys_wall_ns() };
        is_made = true;
        return &keys;
}

/* Each bit of the number changes half of the result's (the end of splitmix64). */
static uint64_t stir(uint64_t number)
{
        number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
        return number ^ number >> 31;
}

static uint64_t mix(uint64_t a, uint32_t b)
{
        const struct keys *keys = keys_of_process();

        return stir((stir(a ^ keys->first) + b) ^ keys->second);
}

/* Where the pair is, or would be: some slot is always free. */
static struct trace_map_slot *slot_of(const struct trace_map *map, uint64_t a, uint32_t b)
{
        uint64_t at = mix(a, b);

        for (;; at++) {
                struct trace_map_slot *slot = &map->slots[at & (map->capacity - 1)];

                if (slot->value == TRACE_MAP_NONE || (slot->a == a && slot->b == b))
                        return slot;
        }
}

uint32_t trace_map_find(const struct trace_map *map, uint64_t a, uint32_t b)
{
        return map->capacity ? slot_of(map, a, b)->value : TRACE_MAP_NONE;
}

static int grow(struct trace_map *map)
{
        struct trace_map larger = { .capacity = map->capacity ? map->capacity * 2 : LEAST_SLOTS, .count = map->count };

        larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
        if (!larger.slots)
                return -ENOMEM;
        for (uint64_t i = 0; i < larger.capacity; i++)
                larger.slots[i].value = TRACE_MAP_NONE;
        for (uint64_t i = 0; i < map->capacity; i++)
                if (map->slots[i].value != TRACE_MAP_NONE)
                        *slot_of(&larger, map->slots[i].a, map->slots[i].b) = map->slots[i];
        free(map->slots);
        *map = larger;
        return 0;
}

int trace_map_add(struct trace_map *map, uint64_t a, uint32_t b, uint32_t value)
{
        if (map->count + 1 > map->capacity / 4 * 3) {
                int err = grow(map);

                if (err)
                        return err;
        }
        *slot_of(map, a, b) = (struct trace_map_slot){ a, b, value };
        map->count++;
        return 0;
}

void trace_map_free(struct trace_map *map)
{
        free(map->slots);
        *map = (struct trace_map){ 0 };
}
