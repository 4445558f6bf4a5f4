/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_SHORTCUT_EH_HASH_TABLE_H
#define BENCH_PAPERS_SHORTCUT_EH_HASH_TABLE_H

/*
 * Hash tables in memory, of records with 8 bytes of key and 8 of value, as section 4.3 of the paper (shortcut.h) has
 * them. Record n has a random key that only it has, and that is not 0; its value is the key of another record, so that
 * all form one cycle: dependent lookups look for what they have found, and need no other arithmetic.
 *
 * A table gets each key once. So inserting need not look whether it is there; who finds out on the way may.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/support/measure.h"

struct hash_data {
        uint64_t records, seed;
        uint64_t next; /* record n has the key of record n + next as its value */
};

struct hash_reads {
        const struct hash_data *data;
        uint64_t below; /* of the first so many records */
        uint64_t count, seed;
        bool is_dependent; /* of all records then */
};

struct hash_stats {
        uint64_t bytes; /* of memory */
        uint64_t mappings;
};

struct hash_system {
        const char *name;
        size_t page_bytes;
        uint64_t kind; /* the system's */
        void *(*create)(const struct hash_system *system, uint64_t records, uint64_t fill_percent);
        void (*insert)(void *table, const struct hash_data *data, uint64_t first, uint64_t count);
        /* The sum of values; what is not found counts as nothing. */
        uint64_t (*look_up)(void *table, const struct hash_reads *reads);
        void (*settle)(void *table);     /* NULL, or what to do before lookups are measured */
        bool (*is_in_step)(void *table); /* NULL, or whether lookups take the shortcut */
        void (*stat)(void *table, struct hash_stats *stats);
        void (*destroy)(void *table);
};

/* Systems of a file; the one with name NULL ends them. */
extern const struct hash_system hash_open[], hash_incremental[], hash_chained[], hash_ehash[];

void hash_data_make(struct hash_data *data, uint64_t records, uint64_t seed);
/* What look_up() should return. */
uint64_t hash_data_sum(const struct hash_reads *reads);

/* A bijection (the finalizer of SplitMix): no key comes twice, and only that of 0 is 0. */
static inline uint64_t hash_key(const struct hash_data *data, uint64_t no)
{
        uint64_t key = no + 1 + (data->seed << 40);

        key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
        return key ^ key >> 31;
}

static inline uint64_t hash_next(const struct hash_data *data, uint64_t no)
{
        return no + data->next < data->records ? no + data->next : no + data->next - data->records;
}

/* The hash function of all tables but extendible hashing, which has its own: its highest bits count. */
static inline uint64_t hash_of(uint64_t key)
{
        return key * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint64_t hash_place(uint64_t *random, uint64_t below)
{
        return (measure_random(random) >> 32) * below >> 32;
}

/* ---- loops, compiled once for each table ---- */

static inline __attribute__((always_inline)) void
hash_insert_each(void *table, const struct hash_data *data, uint64_t first, uint64_t count,
                 void (*insert)(void *table, uint64_t key, uint64_t value))
{
        for (uint64_t no = first; no < first + count; no++)
                insert(table, hash_key(data, no), hash_key(data, hash_next(data, no)));
}

/* find: the value, or 0. */
static inline __attribute__((always_inline)) uint64_t hash_look_up_each(void *table, const struct hash_reads *reads,
                                                                        uint64_t (*find)(void *table, uint64_t key))
{
        uint64_t random = reads->seed, sum = 0;

        if (reads->is_dependent) {
                uint64_t key = hash_key(reads->data, hash_place(&random, reads->below));
                for (uint64_t i = 0; i < reads->count; i++)
                        sum += key = find(table, key);
                return sum;
        }
        for (uint64_t i = 0; i < reads->count; i++)
                sum += find(table, hash_key(reads->data, hash_place(&random, reads->below)));
        return sum;
}

#endif
