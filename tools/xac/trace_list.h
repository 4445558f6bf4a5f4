/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_LIST_H
#define TOOLS_XAC_TRACE_LIST_H

/*
 * What is counted of a trace: arrays that grow by one, and a map from a pair of numbers to an index of such an array.
 * Numbers that somebody has chosen on purpose do not make the map slow.
 */

#include <stddef.h>
#include <stdint.h>

/* Room for one more than `count` items, which may move; NULL: no memory, and nothing is lost. The array has always been
 * made by this. */
void *trace_list_room(void *items, uint64_t count, size_t item_len);

enum { TRACE_MAP_NONE = UINT32_MAX };

struct trace_map_slot {
        uint64_t a;
        uint32_t b;
        uint32_t value; /* TRACE_MAP_NONE: the slot is free */
};

/* All zeros: empty. */
struct trace_map {
        struct trace_map_slot *slots;
        uint64_t capacity; /* a power of two, or 0 */
        uint64_t count;
};

uint32_t trace_map_find(const struct trace_map *map, uint64_t a, uint32_t b);
/* Of a pair that is not there. 0 or -ENOMEM. */
int trace_map_add(struct trace_map *map, uint64_t a, uint32_t b, uint32_t value);
void trace_map_free(struct trace_map *map);

#endif
