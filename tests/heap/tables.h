/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HEAP_TABLES_H
#define TESTS_HEAP_TABLES_H

/*
 * What random tests keep in a heap: tables of objects, each the root "table N", whose objects say what must be in them.
 * So a heap alone tells whether it is whole: what the tables lead to is all that lives, and each byte is right. A model
 * of a table, which is plain memory, says what must be there after the same draws.
 */

#include <stdbool.h>
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

struct table_model {
        uint64_t changes;
        struct object object[TABLE_OBJECTS]; /* size 0: there is none */
};

/* How the tables are accessed: by plain pointers, or, as at first, as compiled code does. */
extern bool tables_are_plain;
uint64_t table_load(const uint64_t *word);
void table_store(uint64_t *word, uint64_t value);

/* Finds or makes it, in a transaction of its own. */
struct table *table_open(xac_heap *heap, int number);
/* In a transaction: one operation on an object at random, of at most so many bytes; what fails for lack of room is no
 * operation. */
void table_change(xac_heap *heap, struct table *table, struct chance *chance, size_t size_max);
/* The same, and -errno if it fails; for a model, which never does. */
int table_try_change(xac_heap *heap, struct table *table, struct chance *chance, size_t size_max);
void table_model_change(struct table_model *model, struct chance *chance, size_t size_max);
/* Counts a transaction in its table, and says how many there are then; in a transaction. */
uint64_t table_count(struct table *table);
/* How many there are, in a transaction of its own. */
uint64_t table_changes(xac_env *env, const struct table *table);
/* Whether the table holds what the model does, each byte of it; how many objects it has. In a transaction. */
bool table_is(const struct table *table, const struct table_model *model, uint64_t *objects);
/* The heap's own check, and all objects of all tables; in a transaction of its own. */
void tables_check(xac_env *env, xac_heap *heap);

#endif
