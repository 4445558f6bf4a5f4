/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_LIBXAC_2005_TOUCH_H
#define BENCH_PAPERS_LIBXAC_2005_TOUCH_H

/*
 * The ways in which a transaction touches n consecutive pages (figures 4-1 to 4-4 of the
 * thesis), each with an environment of its own, so that none finds pages as another left them.
 */

#include <stddef.h>
#include <stdint.h>

#include "bench/support/scratch.h"

enum touch_access { TOUCH_PLAIN, TOUCH_ADVISED, TOUCH_DECLARED };

struct touch_way {
        const char *name;
        int access; /* XAC_READ or XAC_WRITE */
        enum touch_access how;
        int is_cold; /* every first read of a transaction is detected (XAC_TRACK) */
        bool is_durable;
};

/* Places in touch_ways. */
enum {
        TOUCH_READ_COLD,
        TOUCH_READ_COLD_ADVISED,
        TOUCH_READ_WARM,
        TOUCH_READ_DECLARED,
        TOUCH_WRITE_PLAIN,
        TOUCH_WRITE_ADVISED,
        TOUCH_WRITE_DECLARED,
        TOUCH_WAYS
};

extern const struct touch_way touch_ways[TOUCH_WAYS];

struct touch {
        const struct touch_way *way;
        struct scratch scratch;
        size_t next; /* the window moves on, so that no page is written twice in a row */
};

void touch_open(struct touch *touch, const struct touch_way *way, size_t pages);
void touch_close(struct touch *touch);

/* One transaction over the next n pages. */
void touch_pages(struct touch *touch, size_t n);

#endif
