/* SPDX-License-Identifier: MIT */

/*
 * HT: open addressing with linear probing. When it is full by so many percent, all records move to a table of twice
 * the size.
 */

#include "bench/papers/shortcut-eh/hash_table.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/papers/shortcut-eh/hash_memory.h"
#include "bench/support/memory.h"
#include "bench/support/scratch.h"

enum { FIRST_BITS = 8 };

struct table {
        struct hash_slots slots;
        uint64_t records, most; /* at `most` it doubles */
        uint64_t fill_percent;
        size_t page_bytes;
};

static void *open_create(const struct hash_system *system, uint64_t records, uint64_t fill_percent)
{
        struct table *table = calloc(1, sizeof(*table));

        (void)records;
        must(table ? 0 : -ENOMEM, "memory");
        table->page_bytes = system->page_bytes;
        table->fill_percent = fill_percent;
        hash_slots_make(&table->slots, FIRST_BITS, table->page_bytes);
        table->most = (table->slots.mask + 1) * fill_percent / 100;
        return table;
}

static inline void store(const struct hash_slots *slots, uint64_t key, uint64_t value)
{
        uint64_t at = hash_of(key) >> slots->shift;

        while (slots->slot[at].key && slots->slot[at].key != key)
                at = (at + 1) & slots->mask;
        slots->slot[at] = (struct hash_slot){ key, value };
}

static void __attribute__((noinline)) grow(struct table *table)
{
        struct hash_slots old = table->slots;

        hash_slots_make(&table->slots, 64 - old.shift + 1, table->page_bytes);
        for (uint64_t i = 0; i <= old.mask; i++)
                if (old.slot[i].key)
                        store(&table->slots, old.slot[i].key, old.slot[i].value);
        table->most = (table->slots.mask + 1) * table->fill_percent / 100;
        hash_memory_free(&old.memory);
}

static void insert(void *table_, uint64_t key, uint64_t value)
{
        struct table *table = table_;

        if (table->records == table->most)
                grow(table);
        store(&table->slots, key, value);
        table->records++;
}

static uint64_t find(void *table_, uint64_t key)
{
        const struct hash_slots *slots = &((const struct table *)table_)->slots;
        uint64_t at = hash_of(key) >> slots->shift;

        for (; slots->slot[at].key; at = (at + 1) & slots->mask)
                if (slots->slot[at].key == key)
                        return slots->slot[at].value;
        return 0;
}

static void open_insert(void *table, const struct hash_data *data, uint64_t first, uint64_t count)
{
        hash_insert_each(table, data, first, count, insert);
}

static uint64_t open_look_up(void *table, const struct hash_reads *reads)
{
        return hash_look_up_each(table, reads, find);
}

static void open_stat(void *table_, struct hash_stats *stats)
{
        const struct table *table = table_;
        *stats = (struct hash_stats){ .bytes = table->slots.memory.byte_len };
}

static void open_destroy(void *table_)
{
        struct table *table = table_;

        hash_memory_free(&table->slots.memory);
        free(table);
}

#define HT(pages)                                                                                  \
        {                                                                                          \
                .name = "HT", .page_bytes = (pages), .create = open_create, .insert = open_insert, \
                .look_up = open_look_up, .stat = open_stat, .destroy = open_destroy                \
        }

const struct hash_system hash_open[] = { HT(SMALL_PAGE), HT(HUGE_PAGE), { .name = NULL } };
