/* SPDX-License-Identifier: MIT */
#ifndef HEAP_CHECK_H
#define HEAP_CHECK_H

/* What the parts of xac_heap_check() share: what was found and counted so far. */

#include "heap/slab.h"
#include "heap/xac_heap.h"

struct check {
        struct xac_heap *heap;
        xac_heap_stats *stats;
        void (*finding)(void *arg, const char *text);
        void *arg;
        uint64_t findings;
        uint64_t roots_pages; /* by labels, and the first */
        uint64_t roots_seen;  /* of these, by what leads to them */
        uint64_t places;      /* in BY_PLACE */
        size_t run_pages;     /* of the run that the last page belongs to; 0: to none */
};

/* A header may say that there are half a million groups, where there is a hole of as many: each page of it that is
 * looked at takes memory. */
enum { FINDINGS_MAX = 10000 };

bool check_is_too_much(const struct check *check);
__attribute__((format(printf, 2, 3))) void check_find(struct check *check, const char *format, ...);

/* ---- check_roots.c ---- */

/* K4: as many objects of the slab have names as it counts; a run that is labelled so has one. */
void check_named(struct check *check, page_no page, const struct slab *slab, const struct size_class *class);
void check_named_run(struct check *check, page_no page);
/* All pages of roots, and what they lead to. */
void check_roots(struct check *check);

#endif
