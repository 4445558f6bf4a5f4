/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PROGRAMS_CROWD_KEYS_H
#define BENCH_PROGRAMS_CROWD_KEYS_H

/*
 * What the hash table and the databases that it is compared with do, the same for all. Keys are text, values numbers.
 *
 *      updates        an operation adds 1 to the value of a record, by chance
 *      lookups        an operation finds a record, by chance, and reads its value
 *      replacements   an operation inserts a record, and deletes the one that its worker has inserted KEYS_WINDOW
 *                     operations before. Its value is how many the worker has inserted then
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bench/programs/program.h"

enum { KEYS_BYTES = 32, KEYS_WINDOW = 500, KEYS_WORKERS = 16 };

/* All of its bytes are written. */
static inline void keys_of_record(char key[KEYS_BYTES], uint64_t record)
{
        memset(key, 0, KEYS_BYTES);
        snprintf(key, KEYS_BYTES, "record %llu", (unsigned long long)record);
}

static inline void keys_of_worker(char key[KEYS_BYTES], int worker, uint64_t number)
{
        memset(key, 0, KEYS_BYTES);
        snprintf(key, KEYS_BYTES, "w%d %llu", worker, (unsigned long long)number);
}

/* Whose record it is; -1: one that was there before. */
static inline int keys_worker(const char key[KEYS_BYTES])
{
        int worker;
        return sscanf(key, "w%d", &worker) == 1 ? worker : -1;
}

static inline uint64_t keys_chosen(int worker, uint64_t number, uint64_t records)
{
        return program_random(((uint64_t)worker << 40) + number) % records;
}

/* What replacements have left: each worker has its last records. */
struct keys_count {
        uint64_t most[KEYS_WORKERS], records[KEYS_WORKERS];
};

static inline void keys_see(struct keys_count *count, const char key[KEYS_BYTES], uint64_t value)
{
        const int worker = keys_worker(key);

        if (worker < 0 || worker >= KEYS_WORKERS)
                return;
        count->records[worker]++;
        if (value > count->most[worker])
                count->most[worker] = value;
}

static inline int keys_sum(const struct keys_count *count, uint64_t *operations)
{
        *operations = 0;
        for (int w = 0; w < KEYS_WORKERS; w++) {
                *operations += count->most[w];
                if (count->records[w] != (count->most[w] < KEYS_WINDOW ? count->most[w] : KEYS_WINDOW))
                        return -1;
        }
        return 0;
}

#endif
