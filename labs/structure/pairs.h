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

/* The same with keys that are drawn, some hundred: their number says nothing of the test. Returns how many. */
enum { PRELOADED_MOST = 850 };
int table_preload(uint64_t *keys);

/* Meetings of a and b, at each step of A, in a table that holds keys[count]; or grader_fail(). That is so, too, if A
 * takes more than 300 steps. Keys of the operations may be among them. */
void meet(const uint64_t *keys, int count, struct operation a, struct operation b);

/* The same for an A that may take very many steps: at the first of them, at one in `stride`, and of those far behind at
 * fewer. */
void meet_sparsely(int stride, const uint64_t *keys, int count, struct operation a, struct operation b);

/* A is killed before each of its steps, 300 at most. */
void meet_death(const uint64_t *keys, int count, struct operation a);

/* Does the table hold what these operations have put, and nothing else? It is looked for in the bytes of the table
 * alone, by a process that has seen nothing else. */
bool table_holds(const struct operation *puts, int count);

/* A is stopped while B runs, before its first step or a write that is drawn; pair after pair, drawn by `draw`. Fails if
 * more than one in ten pairs conflict, or would if they came at another moment, and says which pages they share. A pair
 * with more accesses than are noted counts as one that conflicts. An A that should only read, and writes, fails; so
 * does a pair that does not come to what some order of the two gives. */
struct pair {
        struct operation a, b;
};
void meet_apart(int pairs, struct pair (*draw)(int number), const char *what);

#endif
