/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_VECTOR_SYSTEMS_H
#define BENCH_PAPERS_RUMA_2016_VECTOR_SYSTEMS_H

/*
 * The vectors that are compared. All begin with room for 2 MiB, as the paper's did, and double it when they are full.
 * All ask for each entry whether there is room, keep what they need for that in registers, and make the entry in place.
 *
 * This header is read by C++, too.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VECTOR_FIRST_BYTES ((size_t)2 << 20)

struct vector_system {
        const char *name;
        size_t page_bytes;
        int is_touched;    /* its memory was touched before: it comes from a pool */
        const char *paper; /* the paper's time to insert as a multiple of the rewired vector's, or NULL */
        /* NULL: it cannot be had here; why not was said. */
        void *(*open)(const struct vector_system *system, uint64_t entries);
        /* Appends the entries from `first` on. They are as many as were appended before. */
        void (*append)(void *vector, uint64_t first, uint64_t count);
        /* The sum of so many entries at random. */
        uint64_t (*read)(const void *vector, uint64_t entries, uint64_t reads, uint64_t seed);
        /* How many entries, from the first one on, are as they should be. */
        uint64_t (*check)(const void *vector, uint64_t entries);
};

static inline uint64_t vector_entry(uint64_t no)
{
        return no * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* xorshift64 (G. Marsaglia, 2003), as a place below `entries`, which are fewer than 2^32. */
static inline uint64_t vector_place(uint64_t *state, uint64_t entries)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return (*state >> 32) * entries >> 32;
}

static inline uint64_t vector_read_flat(const uint64_t *items, uint64_t entries, uint64_t reads, uint64_t seed)
{
        uint64_t sum = 0;

        for (uint64_t i = 0; i < reads; i++)
                sum += items[vector_place(&seed, entries)];
        return sum;
}

static inline uint64_t vector_check_flat(const uint64_t *items, uint64_t entries)
{
        uint64_t no = 0;

        while (no < entries && items[no] == vector_entry(no))
                no++;
        return no;
}

/* Bytes of a vector of so many entries, when it has doubled its room often enough. */
static inline size_t vector_room(uint64_t entries)
{
        size_t bytes = VECTOR_FIRST_BYTES;

        while (bytes < entries * sizeof(uint64_t))
                bytes *= 2;
        return bytes;
}

/* Systems of a file; the one with name NULL ends them. */
extern const struct vector_system vector_rewired[], vector_grown[], vector_chunks[], vector_std[];

#ifdef __cplusplus
}
#endif

#endif
