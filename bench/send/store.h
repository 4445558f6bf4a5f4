/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SEND_STORE_H
#define BENCH_SEND_STORE_H

/*
 * An environment with a tree whose records have all the same size. Packed: 8 bytes of key and the rest of value, side
 * by side in each leaf (`key_bytes` 8), so that a leaf's records are one piece. Scattered: a leaf of any records, each
 * of them a piece.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/tree.h>

#include "bench/support/scratch.h"

enum { STORE_KEY = 8, STORE_RECORD_MIN = 16, STORE_RECORD_MAX = 2048 };

enum store_layout { STORE_PACKED, STORE_SCATTERED, STORE_LAYOUTS };

extern const char *const store_layouts[STORE_LAYOUTS];

struct store {
        struct scratch scratch;
        xac_arena *arena;
        xac_tree *tree;
        uint64_t records;
        uint32_t record_bytes;
        enum store_layout layout;
};

/* Packed records are small. */
bool store_is_possible(uint32_t record_bytes, enum store_layout layout);
/* Loads it: all pages are in the pool. */
void store_open(struct store *store, uint32_t record_bytes, enum store_layout layout, uint64_t bytes, bool is_durable);
void store_close(struct store *store);
void store_key(uint64_t number, unsigned char key[STORE_KEY]);
/* A record gets another value. */
void store_change(struct store *store, uint64_t number, uint64_t value);

#endif
