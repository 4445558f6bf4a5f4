/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HEAP_TABLES_H
#define TESTS_HEAP_TABLES_H

/*
 * What random tests keep in a heap: tables of objects, each the root "table N", whose objects say what must be in them.
 * So a heap alone tells whether it is whole: what the tables lead to is all that lives, and each byte is right.
 */

#include <stdint.h>

#include <xac/heap.h>

#include "tests/support/chance.h"

enum { TABLE_OBJECTS = 200 };

struct table {
        uint64_t changes; /* transactions that took effect */
        struct object *object[TABLE_OBJECTS];
};

struct object {
        uint64_t size; /* as asked for */
        uint64_t seed; /* of its other bytes */
};

/* Finds or makes it, in a transaction of its own. */
struct table *table_open(xac_heap *heap, int number);
/* In a transaction: one operation on an object at random, of at most so many bytes; what fails for lack of room is no
 * operation. */
void table_change(xac_heap *heap, struct table *table, struct chance *chance, size_t size_max);
/* Counts a transaction in its table, and says how many there are then; in a transaction. */
uint64_t table_count(struct table *table);
/* How many there are, in a transaction of its own. */
uint64_t table_changes(xac_env *env, const struct table *table);
/* The heap's own check, and all objects of all tables; in a transaction of its own. */
void tables_check(xac_env *env, xac_heap *heap);

#endif
