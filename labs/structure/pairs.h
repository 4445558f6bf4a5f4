/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_PAIRS_H
#define LABS_STRUCTURE_PAIRS_H

/*
 * Two processes meet in the table: A is stopped in its operation, B does the whole of its own. What they return and
 * leave must be what some order of the two gives. And where their keys have nothing to do with each other, A should not
 * have to begin again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "labs/structure/table.h"

struct operation {
        enum { PUT, GET, DELETE, COUNT } kind;
        uint64_t key, value;
};

/* The table that all tests use. A test opens it before all else. */
void table_open(void);

/* Empties it, and puts these keys, each with its own number as its value. */
void table_fill(const uint64_t *keys, int count);

/* Meetings of a and b, at each step of A (or at one in `stride`: of many), in a table that holds keys[count]; or
 * grader_fail(). Keys of the operations may be among them. */
void meet(const uint64_t *keys, int count, struct operation a, struct operation b);
void meet_strided(int stride, const uint64_t *keys, int count, struct operation a, struct operation b);

/* A is killed before each of its steps. */
void meet_death(const uint64_t *keys, int count, struct operation a);

/* A is stopped before its first step while B runs; pair after pair, drawn by `draw`. Fails if more than one in ten
 * pairs conflict, and says which pages they share. */
struct pair {
        struct operation a, b;
};
void meet_apart(int pairs, struct pair (*draw)(int number), const char *what);

#endif
