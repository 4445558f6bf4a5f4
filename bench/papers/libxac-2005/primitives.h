/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_LIBXAC_2005_PRIMITIVES_H
#define BENCH_PAPERS_LIBXAC_2005_PRIMITIVES_H

/*
 * The system's share of a first write to a page of a view, taken apart (tables 4.3 to 4.5 of
 * the thesis). A rig does by hand what a view does, on memory of its own of the same shape:
 * an address range whose pages are mapped, in no order, to slots of a shared-memory file.
 *
 * One cycle over consecutive pages measures, each in a loop of its own,
 *
 *   SIGNAL       a store to a page that is mapped read-only: fault, SIGSEGV handler, return.
 *                The handler makes no system call: it points the register that holds the
 *                address at a writable byte, and the store runs again there
 *   COPY         the page from its slot to another slot, both through a linear mapping
 *   REWIRE       mmap(MAP_FIXED, read-write) of that slot in the place of the page
 *   TOUCH        the first store after that: a minor fault
 *   PROTECT_RUN  mprotect(read-only) of every run of n pages by one call, or, in every fourth
 *   PROTECT_PAGE cycle of several pages, of each page by itself, for comparison
 *   SUM          of the cycle's SIGNAL, COPY, REWIRE, TOUCH and PROTECT_RUN: it is the sum of one
 *                cycle, so that both it and the transaction it is compared with may be
 *                interrupted by other work in the same way
 *
 * and leaves every page as it found it, one slot further. A loop of one primitive keeps its
 * code in the caches, so the sum is a floor, and a strict one.
 */

#include <signal.h>
#include <stddef.h>

#include "bench/support/measure.h"

enum primitive {
        PRIMITIVE_SIGNAL,
        PRIMITIVE_COPY,
        PRIMITIVE_REWIRE,
        PRIMITIVE_TOUCH,
        PRIMITIVE_PROTECT_PAGE,
        PRIMITIVE_PROTECT_RUN,
        PRIMITIVE_SUM,
        PRIMITIVES
};

extern const char *const primitive_name[PRIMITIVES];

struct rig {
        int pool_fd;
        char *pool; /* linear mapping of the slots: two for each page */
        char *view;
        unsigned char *turn; /* which of its two slots a page shows */
        size_t pages;
        unsigned cycles;
};

void rig_open(struct rig *rig, size_t pages);
void rig_close(struct rig *rig);

/* One cycle over pages [first, first + pages), which a transaction would write `run` at a
 * time; adds nanoseconds per page to the samples. */
void rig_cycle(struct rig *rig, size_t first, size_t pages, size_t run, struct samples samples[PRIMITIVES]);

/* Nanoseconds to copy 4 KiB: between the same two arrays; all over two large arrays. */
double primitive_copy_warm_ns(void);
double primitive_copy_large_ns(void);

#endif
