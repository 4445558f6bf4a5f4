/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_SHORTCUT_EH_SHORTCUT_NODE_H
#define BENCH_PAPERS_SHORTCUT_EH_SHORTCUT_NODE_H

/*
 * A node whose slots lead to leaves of 4 KiB, which are in a pool: by pointers to where the pool shows them, or by an
 * area in which slot n is 4 KiB n. If there are fewer leaves than slots, slot n leads to leaf n modulo their number: so
 * the area is made of few runs, as many as the fan-in.
 *
 * Pages of the pool have 4 KiB, or 2 MiB: 512 leaves. They are taken in the pool's order ("joined"), or by chance
 * ("scattered").
 *
 * A key is 64 bits: the highest choose the slot, the lowest 9 the word of the leaf.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/rewire.h>

#include "bench/support/measure.h"
#include "bench/support/memory.h"

enum { LEAF_WORDS_SHIFT = 9, LEAF_WORDS = 1 << LEAF_WORDS_SHIFT };

struct node_way {
        size_t page_bytes;
        bool is_scattered;
};

struct node {
        struct node_way way;
        uint64_t slots, leaves; /* powers of two */
        uint64_t count;         /* of the pool's pages that have the leaves */
        uint64_t *page;         /* their numbers */
        xac_rewire_pool *pool;
        const uint64_t **directory;
        xac_rewire_area *area;
        const uint64_t *flat; /* the area's words */
};

/* The pool and the leaves with their words, all of it touched. */
void node_prepare(struct node *node, const struct node_way *way, uint64_t slots, uint64_t leaves, uint64_t seed);
void node_free(struct node *node);

/* Where the pool shows a leaf. */
const uint64_t *node_leaf(const struct node *node, uint64_t leaf);
/* All pointers. */
void node_point(struct node *node);
/* Whether an area can have this fan-in: its pages are the pool's. */
bool node_can_map(const struct node_way *way, uint64_t slots, uint64_t leaves);
/* The area, in as few calls as can be, and in the page tables. -EMLINK: it would take too many mappings. */
int node_map(struct node *node);

/* The word of each place is as if by chance (G. Steele, D. Lea, C. Flood: SplitMix, 2014). */
static inline uint64_t node_word(uint64_t place)
{
        place += UINT64_C(0x9e3779b97f4a7c15);
        place = (place ^ place >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        place = (place ^ place >> 27) * UINT64_C(0x94d049bb133111eb);
        return place ^ place >> 31;
}

static inline int node_shift(const struct node *node)
{
        return 64 - __builtin_ctzll(node->slots);
}

/* The sums of lookups, through the directory or the area; and what they should be. Each key comes from chance, or, of
 * dependent ones, from the word before. */
enum node_path { NODE_POINTERS, NODE_SHORTCUT, NODE_EXPECTED, NODE_PATHS = NODE_EXPECTED };

uint64_t node_sum(const struct node *node, enum node_path path, bool is_dependent, uint64_t lookups, uint64_t seed);

#endif
