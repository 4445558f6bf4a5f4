/* SPDX-License-Identifier: MIT */
#ifndef TREES_EHASH_TRIAL_H
#define TREES_EHASH_TRIAL_H

/*
 * Two ways to a bucket: by the directory, to where the arena shows the bucket's page, or by an area that shows one page
 * for each slot. Which is faster depends on the sizes of the processor's caches and TLB, on the size of the pages that
 * the kernel gave, and on how many slots there are: so it is tried out.
 */

#include <stdbool.h>
#include <stdint.h>

#include "pages/arena.h"

struct ehash_ways {
        const char *arena; /* where page 0 is */
        unsigned page_shift;
        unsigned bits; /* of the directory */
        const page_no *directory;
        const char *area;
};

/* Lookups of which each waits for the last, by both ways in turn. Takes some milliseconds, and changes nothing. True:
 * the area is faster, by more than chance. */
bool ehash_area_is_faster(const struct ehash_ways *ways);

#endif
