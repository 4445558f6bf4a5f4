/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_WAYS_H
#define BENCH_SERIAL_WAYS_H

/*
 * The ways to run a structure: which compilation or version of it, in which memory. Another way is one more entry in
 * ways.c.
 */

#include "bench/serial/memory.h"
#include "bench/serial/structures.h"

enum { WAYS_MAX = 8 };

struct way {
        const char *name;
        const struct memory *memory;
        bool is_by_hand;                                /* the structures are given the seat, not the memory */
        const struct structure *structures[STRUCTURES]; /* NULL: this one is not there */
};

extern const struct way ways[];
extern const int way_count;

#endif
