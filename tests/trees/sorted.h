/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_SORTED_H
#define TESTS_TREES_SORTED_H

/*
 * What a tree is compared to: a sorted array of records in plain memory, as simple as can be.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/trees/xtree.h"

struct sorted_record {
        uint32_t key_len;
        uint32_t value_len;
        unsigned char bytes[]; /* the key, then the value */
};

/* Zeroed: empty. */
struct sorted {
        struct sorted_record **records;
        size_t count;
        size_t room;
};

static inline const unsigned char *sorted_value(const struct sorted_record *record)
{
        return record->bytes + record->key_len;
}

/* The order of the keys, also as a comparison that a tree is given (xac_tree_compare). */
int sorted_compare(void *unused, const void *a, size_t a_len, const void *b, size_t b_len);

/* Where the key is or would be. */
size_t sorted_find(const struct sorted *sorted, const void *key, size_t key_len, bool *is_equal);
/* NULL: it is not there. */
const struct sorted_record *sorted_get(const struct sorted *sorted, const void *key, size_t key_len);
void sorted_put(struct sorted *sorted, const void *key, size_t key_len, const void *value, size_t value_len);
/* False: it was not there. */
bool sorted_delete(struct sorted *sorted, const void *key, size_t key_len);
/* Empties it, and frees all. */
void sorted_clear(struct sorted *sorted);
void sorted_copy(struct sorted *to, const struct sorted *from);

/* Whether the tree holds exactly these records: a scan, and each value. What differs is said in `text`. A code of the
 * library's other than 0 is said there, too. Inside a transaction, or outside if nobody changes the tree. */
bool sorted_is_tree(const struct sorted *sorted, xac_tree *tree, char *text, size_t text_len);

#endif
