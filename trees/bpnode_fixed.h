/* SPDX-License-Identifier: MIT */
#ifndef TREES_BPNODE_FIXED_H
#define TREES_BPNODE_FIXED_H

/*
 * The fixed layout (bpnode.h draws it): records of an 8-byte key and what stands beside it, side by side.
 * Knows no `last` and `run`: bpnode.c keeps them for both layouts.
 */

#include <string.h>

#include "trees/bpnode.h"

/* A key as a number that is ordered as its bytes are. */
static inline uint64_t bpnode_fixed_load(const void *key)
{
        uint64_t number;

        memcpy(&number, key, sizeof(number));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        number = __builtin_bswap64(number);
#endif
        return number;
}

unsigned bpnode_fixed_find(const struct bpnode_shape *shape, const struct bpnode *node, const void *key,
                           bool *is_equal);
unsigned bpnode_fixed_find_child(const struct bpnode *node, const void *key);

/* `beside`: the value, or the child's page_no; `key` NULL: the empty key of an inner node. */
void bpnode_fixed_insert(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, const void *key,
                         const void *beside);
void bpnode_fixed_remove(const struct bpnode_shape *shape, struct bpnode *node, unsigned i);
/* Moves the records from `first` on into `right`, which has none. */
void bpnode_fixed_move(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *right);
/* The records from `first` on go to the beginning of `right`; those before `first` to the end of `left`. */
void bpnode_fixed_give_right(const struct bpnode_shape *shape, struct bpnode *node, unsigned first,
                             struct bpnode *right);
void bpnode_fixed_give_left(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *left);
void bpnode_fixed_append(const struct bpnode_shape *shape, struct bpnode *left, const struct bpnode *right,
                         const void *separator);

#endif
