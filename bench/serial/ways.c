/* SPDX-License-Identifier: MIT */
#include "bench/serial/ways.h"

#include "bench/serial/declared.h"

#define ALL_OF(table)                                                                             \
        {                                                                                         \
                &(table)[LRU_MAP], &(table)[RB_TREE], &(table)[OPEN_TABLE], &(table)[SORTED_LIST] \
        }

const struct way ways[] = {
        { .name = "plain", .memory = &memory_plain, .structures = ALL_OF(structures_plain) },
        { .name = "faults", .memory = &memory_view, .structures = ALL_OF(structures_plain) },
#ifdef WITH_COMPILED
        { .name = "compiled", .memory = &memory_view, .structures = ALL_OF(structures_compiled) },
#endif
        { .name = "declared",
          .memory = &memory_view,
          .is_by_hand = true,
          .structures = { [LRU_MAP] = &declared_lru_map,
                          [OPEN_TABLE] = &declared_open_table,
                          [SORTED_LIST] = &declared_sorted_list } },
};

const int way_count = sizeof(ways) / sizeof(ways[0]);

_Static_assert(sizeof(ways) / sizeof(ways[0]) <= WAYS_MAX, "there is room for all of them");
