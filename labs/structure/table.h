/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_TABLE_H
#define LABS_STRUCTURE_TABLE_H

/*
 * A hash table of your own, in TABLE_BYTES bytes of a mapped file: numbers by numbers. The bytes are zeros at first,
 * and that is an empty table. How they are used is yours to say, in table.c. Any key is allowed, 0 too.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/xac.h>

#include "labs/structure/variant.h" /* TABLE_PAGES, TABLE_FULL */

enum {
        TABLE_PAGE_BYTES = 4096,
        TABLE_BYTES = TABLE_PAGES * TABLE_PAGE_BYTES,
        TABLE_KEYS = 4000 /* so many different keys must fit in */
};

struct table;

/* Part 1: serial code. */

/* Inserts the key, or replaces its value. 0, or TABLE_FULL: then nothing has changed. */
int table_put(struct table *table, uint64_t key, uint64_t value);
/* Whether the key is there; then *value is set. */
bool table_get(const struct table *table, uint64_t key, uint64_t *value);
/* Removes the key. Whether it was there. */
bool table_delete(struct table *table, uint64_t key);
/* How many keys there are. */
uint64_t table_count(const struct table *table);

/* Part 2: the same in transactions, for a table in a view of `env`. They return 0, TABLE_FULL, or an error of libxac;
 * what the serial function returns otherwise goes to the last argument. */
int shared_put(xac_env *env, struct table *table, uint64_t key, uint64_t value);
int shared_get(xac_env *env, const struct table *table, uint64_t key, uint64_t *value, bool *is_there);
int shared_delete(xac_env *env, struct table *table, uint64_t key, bool *was_there);
int shared_count(xac_env *env, const struct table *table, uint64_t *count);

#endif
