/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_SCAN_H
#define BENCH_PAPERS_ANKER_HTAP_SCAN_H

/*
 * Runs a kernel over some columns of a table, block by block. A block that changed while the kernel was at it is done
 * again, with the state as it was before: `state` of `state_bytes` is all that a kernel may change. Blocks that can be
 * read in place need none of that.
 */

#include <stddef.h>

#include "bench/papers/anker/htap/engine.h"

enum { SCAN_COLUMNS = 16, SCAN_STATE_MAX = 1024 };

typedef void scan_kernel(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state);

struct scan {
        enum table_no table;
        int columns;
        int column[SCAN_COLUMNS];
        scan_kernel *kernel;
        void *state;
        size_t state_bytes;
        int late; /* so many columns at the end may be NULL, where values are not in place: the kernel asks for some */
};

/* 0, or -ENOMEM. */
int scan_run(const struct scan *scan, const struct reader *reader, uint32_t rows);

#endif
