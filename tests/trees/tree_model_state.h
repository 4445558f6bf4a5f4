/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_TREE_MODEL_STATE_H
#define TESTS_TREES_TREE_MODEL_STATE_H

/*
 * The inside of tree_model.h: what its files share.
 */

#include <stdbool.h>

#include "tests/support/chance.h"
#include "tests/trees/sorted.h"
#include "tests/trees/tree_model.h"
#include "tests/trees/xtree.h"

enum { CURSORS = 3, LEVELS = 3, BYSTANDERS = 300, PLAIN_TXN = 1 };

/* Where a cursor should stand: on a key, or where it was deleted; `txn`: in which transaction, 0 in any. */
struct model_cursor {
        xac_tree_cursor *cursor;
        bool is_placed;
        bool is_deleted;
        uint64_t txn;
        unsigned char key[XAC_TREE_KEY_MAX];
        size_t key_len;
};

struct model {
        struct model_options options;
        struct chance chance;
        xac_arena *arena;
        xac_tree *tree;
        xac_tree *bystander; /* of the other kind */
        struct sorted now, other;
        struct sorted before[LEVELS]; /* each level's beginning */
        unsigned depth;
        uint64_t txn, txns; /* number of the present level; how many there were */
        struct model_cursor cursors[CURSORS];
        uint64_t operation;
        bool is_shrinking;
        uint64_t most_records, most_height; /* seen when everything was looked at */
        unsigned char key[XAC_TREE_KEY_MAX];
        size_t key_len;
        unsigned char *value, *got;
        size_t value_len;
};

/* Ends the process with the seed and the operation. */
_Noreturn void model_differs(const struct model *model, const char *what, long long actual, long long expected);
void model_same(const struct model *model, const char *what, long long actual, long long expected);

/* tree_model_records.c: a key at random, often (percent) one that is there; a value. Into model->key and value. */
void model_choose_key(struct model *model, unsigned percent);
void model_make_key(struct model *model);
void model_make_value(struct model *model);
/* That the record is the i-th. */
void model_compare(const struct model *model, const xac_tree_record *record, size_t i);

void model_put(struct model *model);
void model_delete(struct model *model);
void model_get(struct model *model);
void model_scan(struct model *model);
void model_load(struct model *model);

/* tree_model_cursors.c */
void model_cursor_edge(struct model *model);
void model_cursor_seek(struct model *model);
void model_cursor_step(struct model *model);
void model_cursor_look(struct model *model);
void model_cursor_read(struct model *model);
void model_cursor_delete(struct model *model);

#endif
