/* SPDX-License-Identifier: MIT */
#include "libxac/view/second_table.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"

enum {
        SET = 2,
        CAPACITY_MIN = 512,
        CAPACITY_MAX = 1 << 17, /* 3 MiB: a page that is looked for in more costs as much as to ask the transaction */
        GROWTH = 4,
        WORD_BITS = 64
};

#define SPREAD UINT64_C(0x9E3779B97F4A7C15) /* Fibonacci hashing: neighbours share no set */

static struct second_entry *set_of(const struct second_table *table, uintptr_t unit)
{
        return &table->entries[(unit * SPREAD >> table->shift) & ~(uintptr_t)(SET - 1)];
}

static bool is_current(const struct second_table *table, const struct second_entry *entry)
{
        return entry->of_reads == table->reads;
}

struct second_entry *second_table_find(const struct second_table *table, uintptr_t unit, bool is_write)
{
        struct second_entry *set = set_of(table, unit);
        for (int i = 0; i < SET; i++)
                if (set[i].unit == unit && is_current(table, &set[i]))
                        return !is_write || set[i].of_writes == table->writes ? &set[i] : NULL;
        return NULL;
}

/* An empty one of that many entries. */
static bool make(struct second_table *table, uint32_t capacity)
{
        void *memory;
        if (sys_mmap(NULL, capacity * sizeof(*table->entries), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     0, &memory))
                return false;
        *table = (struct second_table){ .entries = memory,
                                        .capacity = capacity,
                                        .shift = (uint32_t)(WORD_BITS - __builtin_ctz(capacity)),
                                        .limit = capacity < CAPACITY_MAX ? capacity / 2 : UINT32_MAX,
                                        .reads = 1,
                                        .writes = 1 };
        return true;
}

static bool grow(struct second_table *table)
{
        struct second_table larger;
        if (!make(&larger, table->capacity ? GROWTH * table->capacity : CAPACITY_MIN))
                return false;
        const struct second_entry *entry = table->entries;
        const struct second_entry *end = entry ? entry + table->capacity : NULL;
        for (; entry < end; entry++)
                if (is_current(table, entry))
                        second_table_add(&larger, entry->unit, entry->delta, entry->of_writes == table->writes);
        second_table_free(table);
        *table = larger;
        return true;
}

/* Where the unit is, or may come: a place that nobody has, or that of the other one. */
static struct second_entry *place_for(struct second_table *table, uintptr_t unit)
{
        struct second_entry *set = set_of(table, unit);
        const bool has_first = is_current(table, &set[0]), has_second = is_current(table, &set[1]);
        if (has_first && set[0].unit == unit)
                return &set[0];
        if (has_second && set[1].unit == unit)
                return &set[1];
        if (has_first && has_second) {
                set[1] = set[0];
                return &set[0];
        }
        table->taken++;
        return has_first ? &set[1] : &set[0];
}

static inline void put(struct second_table *table, uintptr_t unit, uintptr_t delta, bool is_write)
{
        struct second_entry *entry = place_for(table, unit);
        const bool may_be_written = is_write || (entry->unit == unit && entry->of_writes == table->writes);
        *entry = (struct second_entry){ unit, delta, table->reads, may_be_written ? table->writes : 0 };
}

__attribute__((noinline)) static void put_in_larger(struct second_table *table, uintptr_t unit, uintptr_t delta,
                                                    bool is_write)
{
        if (grow(table) || table->entries)
                put(table, unit, delta, is_write);
}

void second_table_add(struct second_table *table, uintptr_t unit, uintptr_t delta, bool is_write)
{
        if (table->taken < table->limit)
                put(table, unit, delta, is_write);
        else
                put_in_larger(table, unit, delta, is_write);
}

/* The next round; before the numbers are used up, all entries are of none. */
static uint32_t next_round(struct second_table *table, uint32_t round)
{
        if (round < UINT32_MAX)
                return round + 1;
        memset(table->entries, 0, table->capacity * sizeof(*table->entries));
        return 1;
}

void second_table_forget(struct second_table *table)
{
        table->reads = next_round(table, table->reads);
        table->writes = next_round(table, table->writes);
        table->taken = 0;
}

void second_table_forget_writes(struct second_table *table)
{
        table->writes = next_round(table, table->writes);
}

void second_table_forget_unit(struct second_table *table, uintptr_t unit)
{
        struct second_entry *entry = second_table_find(table, unit, false);
        if (entry)
                *entry = (struct second_entry){ 0 };
}

void second_table_free(struct second_table *table)
{
        if (table->entries)
                sys_munmap(table->entries, table->capacity * sizeof(*table->entries));
        *table = (struct second_table){ 0 };
}
