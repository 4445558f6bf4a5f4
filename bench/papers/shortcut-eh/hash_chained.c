/* SPDX-License-Identifier: MIT */

/*
 * CH: chaining. The number of slots never changes; as in the paper there are 1 GB of them for 10^8 records, rounded up
 * to a power of two. A slot has a record, or leads to buckets of 128 bytes, which are filled in order; the newest comes
 * first. They come from chunks of 2 MiB.
 */

#include "bench/papers/shortcut-eh/hash_table.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/papers/shortcut-eh/hash_memory.h"
#include "bench/support/memory.h"
#include "bench/support/scratch.h"

enum { BUCKET_RECORDS = 7, CHUNK_BYTES = HUGE_PAGE, BITS_LEAST = 8 };

struct bucket {
        struct bucket *next;
        uint64_t count;
        struct hash_slot record[BUCKET_RECORDS];
};

struct chunk {
        struct chunk *next;
        struct hash_memory memory;
};

struct table {
        struct hash_slots slots; /* key 0: the value is a bucket's address, or 0 */
        struct chunk *chunks;
        struct bucket *free, *end; /* of the newest chunk */
        uint64_t chunk_count;
        size_t page_bytes;
};

static int bits_for(uint64_t records)
{
        const uint64_t bytes_for_ten = 100; /* of slots */
        int bits = BITS_LEAST;

        while (sizeof(struct hash_slot) << bits < records / 10 * bytes_for_ten)
                bits++;
        return bits;
}

static void *chained_create(const struct hash_system *system, uint64_t records, uint64_t fill_percent)
{
        struct table *table = calloc(1, sizeof(*table));

        (void)fill_percent;
        must(table ? 0 : -ENOMEM, "memory");
        table->page_bytes = system->page_bytes;
        hash_slots_make(&table->slots, bits_for(records), table->page_bytes);
        return table;
}

static void __attribute__((noinline)) add_chunk(struct table *table)
{
        struct chunk *chunk = calloc(1, sizeof(*chunk));

        must(chunk ? 0 : -ENOMEM, "memory");
        hash_memory_make(&chunk->memory, CHUNK_BYTES, table->page_bytes);
        chunk->next = table->chunks;
        table->chunks = chunk;
        table->chunk_count++;
        table->free = (struct bucket *)chunk->memory.bytes;
        table->end = table->free + CHUNK_BYTES / sizeof(struct bucket);
}

static inline struct bucket *add_bucket(struct table *table, struct bucket *next)
{
        if (table->free == table->end)
                add_chunk(table);
        struct bucket *bucket = table->free++;
        bucket->next = next;
        return bucket;
}

static inline struct bucket *bucket_of(const struct hash_slot *slot)
{
        return (struct bucket *)(uintptr_t)slot->value;
}

static void insert(void *table_, uint64_t key, uint64_t value)
{
        struct table *table = table_;
        struct hash_slot *slot = &table->slots.slot[hash_of(key) >> table->slots.shift];
        const struct hash_slot record = { key, value };

        if (!slot->key && !slot->value) {
                *slot = record;
                return;
        }
        struct bucket *bucket = slot->key ? NULL : bucket_of(slot);
        if (!bucket || bucket->count == BUCKET_RECORDS) {
                bucket = add_bucket(table, bucket);
                if (slot->key)
                        bucket->record[bucket->count++] = *slot;
                *slot = (struct hash_slot){ 0, (uintptr_t)bucket };
        }
        bucket->record[bucket->count++] = record;
}

static uint64_t find(void *table_, uint64_t key)
{
        const struct table *table = table_;
        const struct hash_slot *slot = &table->slots.slot[hash_of(key) >> table->slots.shift];

        if (slot->key)
                return slot->key == key ? slot->value : 0;
        for (const struct bucket *bucket = bucket_of(slot); bucket; bucket = bucket->next)
                for (uint64_t i = 0; i < bucket->count; i++)
                        if (bucket->record[i].key == key)
                                return bucket->record[i].value;
        return 0;
}

static void chained_insert(void *table, const struct hash_data *data, uint64_t first, uint64_t count)
{
        hash_insert_each(table, data, first, count, insert);
}

static uint64_t chained_look_up(void *table, const struct hash_reads *reads)
{
        return hash_look_up_each(table, reads, find);
}

static void chained_stat(void *table_, struct hash_stats *stats)
{
        const struct table *table = table_;
        *stats = (struct hash_stats){ .bytes = table->slots.memory.byte_len + table->chunk_count * CHUNK_BYTES };
}

static void chained_destroy(void *table_)
{
        struct table *table = table_;

        for (struct chunk *chunk = table->chunks, *next; chunk; chunk = next) {
                next = chunk->next;
                hash_memory_free(&chunk->memory);
                free(chunk);
        }
        hash_memory_free(&table->slots.memory);
        free(table);
}

#define CH(pages)                                                                                        \
        {                                                                                                \
                .name = "CH", .page_bytes = (pages), .create = chained_create, .insert = chained_insert, \
                .look_up = chained_look_up, .stat = chained_stat, .destroy = chained_destroy             \
        }

const struct hash_system hash_chained[] = { CH(SMALL_PAGE), CH(HUGE_PAGE), { .name = NULL } };
