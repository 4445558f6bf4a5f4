/* SPDX-License-Identifier: MIT */

/*
 * HTI: HT that moves a few slots with each operation, lookups included. As long as there are two tables, records go
 * into the new one, and a lookup begins with the one that has more of them. A slot that was moved stays as it is, so
 * that records behind it are still found, and the old table is given back when all were; the move must be over before
 * the new one is full.
 */

#include "bench/papers/shortcut-eh/hash_table.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/papers/shortcut-eh/hash_memory.h"
#include "bench/support/memory.h"
#include "bench/support/scratch.h"

enum { FIRST_BITS = 8, MOVED_AT_ONCE = 16 };

struct table {
        struct hash_slots slots;
        struct hash_slots old;         /* without memory: none */
        uint64_t moved;                /* slots of it */
        uint64_t records, old_records; /* of the latter, those that were not moved */
        uint64_t most;
        uint64_t fill_percent;
        size_t page_bytes;
};

static void set_most(struct table *table)
{
        table->most = (table->slots.mask + 1) * table->fill_percent / 100;
}

static void *incremental_create(const struct hash_system *system, uint64_t records, uint64_t fill_percent)
{
        struct table *table = calloc(1, sizeof(*table));

        (void)records;
        must(table ? 0 : -ENOMEM, "memory");
        table->page_bytes = system->page_bytes;
        table->fill_percent = fill_percent;
        hash_slots_make(&table->slots, FIRST_BITS, table->page_bytes);
        set_most(table);
        return table;
}

static inline void store(const struct hash_slots *slots, uint64_t key, uint64_t value)
{
        uint64_t at = hash_of(key) >> slots->shift;

        while (slots->slot[at].key && slots->slot[at].key != key)
                at = (at + 1) & slots->mask;
        slots->slot[at] = (struct hash_slot){ key, value };
}

static void __attribute__((noinline)) move_some(struct table *table)
{
        for (int i = 0; i < MOVED_AT_ONCE && table->moved <= table->old.mask; i++) {
                const struct hash_slot *slot = &table->old.slot[table->moved++];
                if (!slot->key)
                        continue;
                store(&table->slots, slot->key, slot->value);
                table->old_records--;
        }
        if (table->moved > table->old.mask)
                hash_memory_free(&table->old.memory);
}

static inline bool is_moving(const struct table *table)
{
        return table->old.memory.mapped;
}

static void __attribute__((noinline)) grow(struct table *table)
{
        must(is_moving(table) ? -EBUSY : 0, "HTI grows");
        table->old = table->slots;
        table->old_records = table->records;
        table->moved = 0;
        hash_slots_make(&table->slots, 64 - table->old.shift + 1, table->page_bytes);
        set_most(table);
}

static void insert(void *table_, uint64_t key, uint64_t value)
{
        struct table *table = table_;

        if (table->records == table->most)
                grow(table);
        if (is_moving(table))
                move_some(table);
        store(&table->slots, key, value);
        table->records++;
}

static inline uint64_t find_in(const struct hash_slots *slots, uint64_t key)
{
        uint64_t at = hash_of(key) >> slots->shift;

        for (; slots->slot[at].key; at = (at + 1) & slots->mask)
                if (slots->slot[at].key == key)
                        return slots->slot[at].value;
        return 0;
}

static uint64_t find_in_both(struct table *table, uint64_t key)
{
        const bool is_old_first = table->old_records > table->records - table->old_records;
        const uint64_t value = find_in(is_old_first ? &table->old : &table->slots, key);

        return value ? value : find_in(is_old_first ? &table->slots : &table->old, key);
}

static uint64_t find(void *table_, uint64_t key)
{
        struct table *table = table_;

        if (is_moving(table))
                move_some(table);
        return is_moving(table) ? find_in_both(table, key) : find_in(&table->slots, key);
}

static void incremental_insert(void *table, const struct hash_data *data, uint64_t first, uint64_t count)
{
        hash_insert_each(table, data, first, count, insert);
}

static uint64_t incremental_look_up(void *table, const struct hash_reads *reads)
{
        return hash_look_up_each(table, reads, find);
}

static void incremental_stat(void *table_, struct hash_stats *stats)
{
        const struct table *table = table_;
        *stats = (struct hash_stats){ .bytes = table->slots.memory.byte_len + table->old.memory.byte_len };
}

static void incremental_destroy(void *table_)
{
        struct table *table = table_;

        hash_memory_free(&table->slots.memory);
        hash_memory_free(&table->old.memory);
        free(table);
}

#define HTI(pages)                                                                                                \
        {                                                                                                         \
                .name = "HTI", .page_bytes = (pages), .create = incremental_create, .insert = incremental_insert, \
                .look_up = incremental_look_up, .stat = incremental_stat, .destroy = incremental_destroy          \
        }

const struct hash_system hash_incremental[] = { HTI(SMALL_PAGE), HTI(HUGE_PAGE), { .name = NULL } };
