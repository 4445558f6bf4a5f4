/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_LRU_MAP_H
#define BENCH_SERIAL_LRU_MAP_H

/*
 * A map that keeps the entries used last: chains of a hash table, and a list from the newest to the oldest. When it is
 * full, a new key takes the place of the oldest.
 *
 *      bucket[h] -> entry -> entry        by `chain`
 *      newest <-> entry <-> oldest        by `older` and `newer`
 */

#include <stddef.h>
#include <stdint.h>

enum { LRU_MAP_ENTRIES = 20000, LRU_MAP_BUCKETS = 4096, LRU_MAP_WORDS = 14 };

struct lru_value {
        uint64_t word[LRU_MAP_WORDS];
};

struct lru_entry {
        uint64_t key;
        struct lru_entry *chain, *newer, *older;
        struct lru_value value;
};

struct lru_map {
        struct lru_entry *newest, *oldest;
        size_t count;
        struct lru_entry *bucket[LRU_MAP_BUCKETS];
        struct lru_entry entry[LRU_MAP_ENTRIES];
};

_Static_assert(sizeof(struct lru_entry) == 144, "an entry has the size it is known for");

static inline void lru_map_make(struct lru_map *map)
{
        map->newest = map->oldest = NULL;
        map->count = 0;
        for (size_t b = 0; b < LRU_MAP_BUCKETS; b++)
                map->bucket[b] = NULL;
}

static inline size_t lru_map_hash(uint64_t key)
{
        return (size_t)(key * 0x9e3779b97f4a7c15u >> 32) % LRU_MAP_BUCKETS;
}

static inline struct lru_entry *lru_map_find(const struct lru_map *map, uint64_t key)
{
        struct lru_entry *entry = map->bucket[lru_map_hash(key)];
        while (entry && entry->key != key)
                entry = entry->chain;
        return entry;
}

static inline void lru_map_unlink(struct lru_map *map, struct lru_entry *entry)
{
        if (entry->newer)
                entry->newer->older = entry->older;
        else
                map->newest = entry->older;
        if (entry->older)
                entry->older->newer = entry->newer;
        else
                map->oldest = entry->newer;
}

static inline void lru_map_link(struct lru_map *map, struct lru_entry *entry)
{
        entry->newer = NULL;
        entry->older = map->newest;
        if (map->newest)
                map->newest->newer = entry;
        else
                map->oldest = entry;
        map->newest = entry;
}

static inline void lru_map_move_to_front(struct lru_map *map, struct lru_entry *entry)
{
        if (map->newest == entry)
                return;
        lru_map_unlink(map, entry);
        lru_map_link(map, entry);
}

/* One that is in no list and no chain. */
static inline struct lru_entry *lru_map_take_entry(struct lru_map *map)
{
        if (map->count < LRU_MAP_ENTRIES)
                return &map->entry[map->count++];

        struct lru_entry *oldest = map->oldest;
        struct lru_entry **link = &map->bucket[lru_map_hash(oldest->key)];
        while (*link != oldest)
                link = &(*link)->chain;
        *link = oldest->chain;
        lru_map_unlink(map, oldest);
        return oldest;
}

/* Returns whether the key is there. */
static inline int lru_map_get(struct lru_map *map, uint64_t key, struct lru_value *value)
{
        struct lru_entry *entry = lru_map_find(map, key);
        if (!entry)
                return 0;
        *value = entry->value;
        lru_map_move_to_front(map, entry);
        return 1;
}

/* Returns whether there is an entry more than before. */
static inline int lru_map_put(struct lru_map *map, uint64_t key, const struct lru_value *value)
{
        const size_t count = map->count;
        struct lru_entry *entry = lru_map_find(map, key);

        if (entry) {
                entry->value = *value;
                lru_map_move_to_front(map, entry);
                return 0;
        }
        entry = lru_map_take_entry(map);
        struct lru_entry **bucket = &map->bucket[lru_map_hash(key)];
        entry->key = key;
        entry->value = *value;
        entry->chain = *bucket;
        *bucket = entry;
        lru_map_link(map, entry);
        return map->count > count;
}

#endif
