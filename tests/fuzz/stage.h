/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_STAGE_H
#define TESTS_FUZZ_STAGE_H

/*
 * What the targets of all search structures share: two of one kind in an arena in memory, operations that an input
 * asks for, sorted arrays that know what each must say, and perhaps damage in the end. xac_tree_check finds nothing
 * then, or what it finds nothing wrong with can be worked on.
 *
 * Nothing is left to chance: what an arena takes for random numbers is the same each time.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pages/arena.h"
#include "tests/fuzz/fuzz.h"
#include "tests/trees/sorted.h"
#include "tests/trees/xtree.h"

enum { STAGE_TREES = 2, STAGE_FRONT_MAX = 8, STAGE_FIXED_VALUE = 40, STAGE_VALUE_MAX = 24000 };

/* A key as the model has it: behind the tree's front, which makes the model's order the tree's. */
struct stage_key {
        size_t len;
        unsigned char bytes[STAGE_FRONT_MAX + XAC_TREE_KEY_MAX];
};

struct stage_tree {
        const char *name;
        xac_tree_options options;
        size_t front;   /* bytes that a key has before it in the model */
        xac_tree *tree; /* NULL: there was no room for it */
        struct sorted model;
        xac_tree_cursor *cursor;
        bool is_placed, is_deleted; /* the cursor: it stands somewhere; its record was deleted through it */
        struct stage_key at;
};

struct stage;

/* What differs from kind to kind. */
struct stage_play {
        enum xtree_kind kind;
        uint64_t few_bytes; /* of an arena */
        size_t key_max;
        size_t front;
        /* Fills in the front, and may make another key of what is behind it. NULL: there is none. */
        void (*translate)(const struct stage *stage, const struct stage_tree *tree, struct stage_key *key);
        void (*scan)(struct stage *stage, struct stage_tree *tree);
        /* The cursor: to the first record, the last, or somewhere in between. */
        void (*seek)(struct stage *stage, struct stage_tree *tree);
        /* Something that only this kind can do. */
        void (*work)(struct stage *stage, struct stage_tree *tree);
        /* Whether the tree is as its model says. */
        void (*prove)(struct stage *stage, struct stage_tree *tree);
        /* Of damaged trees, whatever they say: a scan, from stage->key on or of all; a seek. */
        void (*scan_blindly)(struct stage *stage, struct stage_tree *tree, bool is_from_key);
        void (*seek_blindly)(struct stage *stage, struct stage_tree *tree);
};

struct stage {
        const struct stage_play *play;
        struct fuzz_input *input;
        uint8_t how; /* the first byte */
        unsigned operations;
        xac_arena *arena;
        struct stage_tree trees[STAGE_TREES];
        size_t key_len;
        unsigned char key[XAC_TREE_KEY_MAX];
        size_t value_len;
        unsigned char value[STAGE_VALUE_MAX];
        unsigned char room[STAGE_VALUE_MAX];
};

/* ---- from beginning to end ---- */

/* What bits of the first byte ask for; the others are the play's. */
enum {
        STAGE_DAMAGED = 1, /* pages are damaged in the end */
        STAGE_FIXED = 2,   /* the first tree is */
        STAGE_LARGE = 8,   /* pages of 16 KiB */
        STAGE_FEW = 16     /* pages */
};

/* Names and options of two trees. */
void stage_set(struct stage *stage, const struct stage_play *play, struct fuzz_input *input);
/* Makes them, in an arena that xac_arena_open_...() makes. False: the input asks for an arena that cannot be. */
bool stage_open(struct stage *stage, int (*open)(uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena));
/* All that the input asks for. Then everything is closed. */
void stage_run(struct stage *stage);

/* ---- for plays ---- */

void stage_read_key(struct stage *stage, const struct stage_tree *tree);
/* stage->key in the model of this tree. */
void stage_translate(const struct stage *stage, const struct stage_tree *tree, struct stage_key *key);

/* Nothing else fails here than for want of pages. */
bool stage_is_done(int code);
void stage_put(struct stage *stage, struct stage_tree *tree, int flags);
/* The value lies elsewhere than in stage->value, which has the same bytes. */
void stage_put_from(struct stage *stage, struct stage_tree *tree, const void *value, int flags);

/* A scan that shows records [i, end) of the model, and is ended when it has shown `left`. */
struct stage_scan {
        const struct stage_tree *tree;
        size_t i, end, left;
};
int stage_visit(void *scan, const xac_tree_record *record);
/* What it returned in the end. */
void stage_check_scan(const struct stage_scan *scan, int code);

/* What the cursor's move must do, and where it must stand then: at i of the model, if there is such a record. */
void stage_check_move(struct stage_tree *tree, int code, bool is_there, size_t i);
/* The record on which the cursor stands; NULL: on none. */
const struct sorted_record *stage_here(const struct stage_tree *tree);

/* A visit that reads all it is shown; *left: an unsigned number of records. */
enum { STAGE_LOOKS_MAX = 5000 };
int stage_look(void *left, const xac_tree_record *record);

#endif
