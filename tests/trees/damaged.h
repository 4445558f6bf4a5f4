/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_DAMAGED_H
#define TESTS_TREES_DAMAGED_H

/*
 * An arena in memory that tests damage, xac_tree_check then tells of, and that is repaired: two trees of several pages,
 * a long value, free pages. Its cobtrees: "words" has more than one extent.
 */

#include "pages/arena.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

enum { DAMAGED_WORDS = 3000, DAMAGED_LONG = 200000 };

extern struct damaged {
        xac_arena *arena;
        xac_tree *words, *numbers; /* keys of any length; of 8 bytes, values of 100 */
        char *sound;               /* all its bytes, before they are damaged */
        uint64_t sound_bytes;
        uint64_t pages_used; /* so many */
} damaged;

void damaged_begin(int way);
void damaged_end(void);

static inline void *damaged_page(page_no page)
{
        return damaged.arena->base + ((uint64_t)page << damaged.arena->page_shift);
}

/* The damage is told of with these words, at that page (0: any); and repaired. */
void damaged_is_found(page_no page, const char *what);
/* A page is as it was before. */
void damaged_repair_page(page_no page);

#endif
