/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_HISTORY_KEYS_H
#define TESTS_TREES_HISTORY_KEYS_H

/*
 * The numbers of a script as bytes: keys whose order is that of their numbers, values that their tag says all about.
 *
 *      tree 0    keys of 8 bytes, values of 8
 *      tree 1    keys with a long beginning in common, of up to 150 bytes; short values
 *      tree 2    some keys near the longest, some values in overflow pages: few records to a page
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/tree.h>

enum { HISTORY_VALUE_MAX = 9008 };

extern const char *const history_tree_names[];
extern const xac_tree_options history_tree_options[];

struct history_key {
        size_t len;
        unsigned char bytes[XAC_TREE_KEY_MAX];
};

void history_key_make(struct history_key *key, unsigned tree, unsigned number);
/* The number of a key. UINT32_MAX: no script makes this one. */
unsigned history_key_read(unsigned tree, const void *bytes, size_t len);

/* Returns how long it is. */
size_t history_value_make(unsigned tree, uint64_t tag, unsigned char *value);
/* The tag of a value. 0: no script makes this one. */
uint64_t history_value_read(unsigned tree, const void *value, size_t len);

#endif
