/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_NODE_MODEL_H
#define TESTS_TREES_NODE_MODEL_H

/*
 * A node beside what it should hold: a sorted array that knows nothing of pages.
 *
 * The page lies between two that cannot be accessed, so that one byte too far is a crash in every build.
 * Each change is made to both; model_verify compares them and asks bpnode_fault.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/chance.h"
#include "trees/bpnode.h"

enum { MODEL_RECORDS_MAX = 16384 };

/* Stands in an array of pointers; bytes: the key, then the value. */
struct model_record {
        size_t key_len;
        size_t value_len;
        bool is_overflow;
        page_no child;
        unsigned char bytes[];
};

struct model {
        const struct bpnode_shape *shape;
        struct bpnode *node;
        unsigned count;
        struct model_record *records[MODEL_RECORDS_MAX];
};

/* How keys are made up. */
enum model_keys {
        KEYS_COLLIDE,  /* short, of zeros, ones and 255s: many begin with others, heads are often equal */
        KEYS_PREFIXED, /* a long beginning in common */
        KEYS_DECIMAL,
        KEYS_RANDOM, /* of any length */
        KEYS_KINDS
};

struct model_maker {
        struct chance *chance;
        enum model_keys kind;
        unsigned char prefix[XAC_TREE_KEY_MAX];
        size_t prefix_len;
        size_t value_max; /* variable leaves: longer ones are not made */
        unsigned char key[XAC_TREE_KEY_MAX];
        unsigned char value[65536];
};

/* Longer keys first; a comparison of a user's own. */
int model_compare_by_length(void *arg, const void *a, size_t a_len, const void *b, size_t b_len);

/* An empty node; inner ones have a first child. */
struct model *model_start(const struct bpnode_shape *shape, uint8_t level);
void model_end(struct model *model);

void maker_start(struct model_maker *maker, struct chance *chance, enum model_keys kind);
struct bpnode_key make_key(struct model_maker *maker, const struct bpnode_shape *shape);
/* With a value that belongs into a leaf beside this key. */
struct bpnode_record make_record(struct model_maker *maker, const struct bpnode_shape *shape, struct bpnode_key key);

/* Where the key is or would be in the array. */
unsigned model_find(const struct model *model, struct bpnode_key key, bool *is_equal);
struct bpnode_key model_key(const struct model *model, unsigned i);
/* Bytes that a record takes, by the functions that callers ask. */
size_t model_bytes(const struct model *model, unsigned i);

/* Into both; what there is room for has been asked. */
void model_insert(struct model *model, unsigned i, const struct bpnode_record *record, page_no child);
void model_remove(struct model *model, unsigned i);
/* Into the array alone, and from one array to the end of another. */
void model_note(struct model *model, unsigned i, const struct bpnode_record *record, page_no child);
void model_forget(struct model *model, unsigned i);
void model_move(struct model *from, unsigned first, struct model *to);
/* The record at i gets another key, in the array alone. */
void model_rekey(struct model *model, unsigned i, struct bpnode_key key);

/* The node is in order and holds just what the array has; bounds as bpnode_fault's. */
void model_verify_within(const struct model *model, struct bpnode_key low, struct bpnode_key high);
void model_verify(const struct model *model);

#endif
