/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_OPEN_TABLE_H
#define BENCH_SERIAL_OPEN_TABLE_H

/*
 * A hash table whose entries stand in the table itself: each at the place that its hash names, or at the next ones, if
 * others were there before. Key 0 is a free place; there is always one. Erasing leaves no gap: those behind it that
 * could not have their place move up.
 */

#include <stddef.h>
#include <stdint.h>

enum { OPEN_TABLE_SLOTS = 32768, OPEN_TABLE_WORDS = 3 };

struct open_value {
        uint64_t word[OPEN_TABLE_WORDS];
};

struct open_slot {
        uint64_t key;
        struct open_value value;
};

struct open_table {
        struct open_slot slot[OPEN_TABLE_SLOTS];
        size_t count;
};

static inline void open_table_make(struct open_table *table)
{
        table->count = 0;
        for (size_t s = 0; s < OPEN_TABLE_SLOTS; s++)
                table->slot[s].key = 0;
}

static inline size_t open_table_hash(uint64_t key)
{
        return (size_t)(key * 0x9e3779b97f4a7c15u >> 32) % OPEN_TABLE_SLOTS;
}

static inline size_t open_table_next(size_t slot)
{
        return (slot + 1) % OPEN_TABLE_SLOTS;
}

/* How far `to` lies behind `from`, around the end. */
static inline size_t open_table_distance(size_t from, size_t to)
{
        return (to - from) % OPEN_TABLE_SLOTS;
}

/* Where the key is, or the free place where it would go. */
static inline size_t open_table_find(const struct open_table *table, uint64_t key)
{
        size_t at = open_table_hash(key);
        while (table->slot[at].key && table->slot[at].key != key)
                at = open_table_next(at);
        return at;
}

/* Returns whether the key is there. */
static inline int open_table_get(const struct open_table *table, uint64_t key, struct open_value *value)
{
        const struct open_slot *slot = &table->slot[open_table_find(table, key)];
        if (!slot->key)
                return 0;
        *value = slot->value;
        return 1;
}

/* Returns whether there is an entry more than before. */
static inline int open_table_put(struct open_table *table, uint64_t key, const struct open_value *value)
{
        struct open_slot *slot = &table->slot[open_table_find(table, key)];
        const int is_new = !slot->key;

        if (is_new && table->count == OPEN_TABLE_SLOTS - 1)
                return 0;
        slot->key = key;
        slot->value = *value;
        if (is_new)
                table->count++;
        return is_new;
}

/* Returns whether the key was there. */
static inline int open_table_erase(struct open_table *table, uint64_t key)
{
        size_t gap = open_table_find(table, key);
        if (!table->slot[gap].key)
                return 0;
        for (size_t at = open_table_next(gap); table->slot[at].key; at = open_table_next(at)) {
                const size_t home = open_table_hash(table->slot[at].key);
                if (open_table_distance(home, at) < open_table_distance(gap, at))
                        continue; /* the gap lies before its place */
                table->slot[gap] = table->slot[at];
                gap = at;
        }
        table->slot[gap].key = 0;
        table->count--;
        return 1;
}

#endif
