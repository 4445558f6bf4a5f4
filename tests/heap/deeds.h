/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HEAP_DEEDS_H
#define TESTS_HEAP_DEEDS_H

/*
 * Transactions on a heap whose outcome is known beforehand, for those who must know what was there after any number of
 * them: who kills processes, and who cuts the power (tests/trees/deeds.h does that for trees).
 *
 * A lane is a row of deeds with numbers from 1 on. What deed k does follows from the seed, the lane and k alone, and
 * goes through one function both for the heap and for memory. A lane's objects are those of its table (tables.h), which
 * also has the number of its newest deed, and some roots, which come and go. Nothing else lives in the heap.
 */

#include "tests/heap/tables.h"

enum { HEAP_DEEDS_LANES_MAX = 16, HEAP_DEEDS_ROOTS = 4 };

struct heap_deeds {
        uint64_t seed;
        unsigned lanes;
        unsigned changes; /* of one deed: 1 ... changes, and as many in levels */
        size_t size_max;  /* of objects */
        size_t huge;      /* of a root, now and then; 0: none */
        /* For histories that go on otherwise after a crash than they did before: another number, another deed. NULL: no
         * such. */
        uint64_t (*salt)(const void *arg, unsigned lane, uint64_t k);
        const void *salt_arg;
};

/* ---- on a heap ---- */

/* A thread's. */
struct heap_desk {
        const struct heap_deeds *deeds;
        xac_env *env;
        xac_heap *heap;
        struct table *tables[HEAP_DEEDS_LANES_MAX];
        uint64_t operations; /* calls that it made, of all deeds and attempts */
};

/* Opens the heap with these flags and makes what is not there. The first code that is not 0; the desk is to be closed
 * then, too. */
int heap_deeds_open(struct heap_desk *desk, const struct heap_deeds *deeds, xac_env *env, int flags);
int heap_deeds_close(struct heap_desk *desk);

/* In a transaction: the next deed of the lane, which is number *k; 0: none beyond number `most`. */
int heap_deeds_do(struct heap_desk *desk, unsigned lane, uint64_t most, uint64_t *k);

/* In a transaction: the number of the lane's newest deed. */
uint64_t heap_deeds_counter(const struct heap_desk *desk, unsigned lane);

/* ---- in memory ---- */

/* Zeroed: before the first. */
struct heap_lane {
        struct table_model table;
        struct {
                uint64_t size, tag; /* size 0: there is none */
        } root[HEAP_DEEDS_ROOTS];
};

/* Goes on to so many deeds of the lane; begins anew where there were more. */
void heap_deeds_go_to(struct heap_lane *state, const struct heap_deeds *deeds, unsigned lane, uint64_t done);

/* Whether the heap holds what these lanes say and nothing else, and xac_heap_check finds nothing. What differs is said
 * in `text`. In a transaction. */
bool heap_deeds_are_done(const struct heap_lane *lanes, struct heap_desk *desk, char *text, size_t text_len);

#endif
