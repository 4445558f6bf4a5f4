/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_TREE_MODEL_H
#define TESTS_TREES_TREE_MODEL_H

/*
 * Random operations on a tree and on a sorted array: each result, each record and each cursor must be the same. The
 * tree grows and shrinks in turn; a tree of the other kind in the same arena must stay as it is.
 */

#include <stddef.h>
#include <stdint.h>

struct model_options {
        int way; /* ways.h */
        uint64_t seed;
        uint64_t operations;
        unsigned keys;        /* how many there may be, about */
        unsigned key_bytes;   /* 8: fixed */
        unsigned value_bytes; /* fixed: of each */
        unsigned key_max;     /* variable: the longest key */
        unsigned value_max;   /* variable: the longest value in a leaf, or in overflow pages */
        int with_own_order;
        unsigned check_every; /* operations between two looks at everything */
};

/* Ends the process when something differs. In a scratch directory. */
void model_run(const struct model_options *options);

#endif
