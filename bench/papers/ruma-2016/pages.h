/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_PAGES_H
#define BENCH_PAPERS_RUMA_2016_PAGES_H

/*
 * Memory of three kinds, as section 4.2 of the paper (rewire.h) has them: private and anonymous, of which the kernel
 * finds the pages when they are touched; and pages of a pool, which were touched before, reached through a directory or
 * rewired. Pages of a pool are taken in its order, or in one by chance.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/rewire.h>

#include "bench/papers/ruma-2016/rewire.h"
#include "bench/support/page_order.h"

enum pages_kind { PAGES_ANONYMOUS, PAGES_INDIRECT, PAGES_REWIRED };

struct pages_way {
        const char *name;
        enum pages_kind kind;
        size_t page_bytes;
        bool is_random;
        bool is_private; /* rewired: what is stored goes into copies */
};

struct pages {
        struct pages_way way;
        uint64_t count;
        xac_rewire_pool *pool;
        uint64_t *number;     /* of each page in the pool */
        uint64_t *flat;       /* anonymous or rewired: all words */
        uint64_t **directory; /* indirect: the words of each page */
        xac_rewire_area *area;
        char *mapped; /* anonymous: what was mapped, with room to align */
};

enum { PAGES_SMALL_SHIFT = 9, PAGES_HUGE_SHIFT = 18 }; /* words of a page */

/* The pool and the order. */
void pages_prepare(struct pages *pages, const struct pages_way *way, uint64_t bytes, uint64_t seed);
/* What the allocation itself costs. -EMLINK: more mappings than a process may have. */
int pages_allocate(struct pages *pages);
/* All of it; also when nothing was allocated. */
void pages_free(struct pages *pages);

/* The first word of a page, by the directory or directly. */
uint64_t *pages_words(const struct pages *pages, uint64_t page);

const char *pages_order_name(const struct pages_way *way);

#endif
