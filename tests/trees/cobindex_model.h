/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_COBINDEX_MODEL_H
#define TESTS_TREES_COBINDEX_MODEL_H

/*
 * An index alone, over segments of two records each, beside a sorted array of what they hold. Each operation runs in
 * transactions of its own on ways.arena.
 */

#include "tests/support/chance.h"
#include "trees/cobindex.h"

/* Which keys: of 8 bytes; of up to 8 bytes; so long that separators are cut; with their own comparison. */
enum model_keys { MODEL_FIXED, MODEL_SHORT, MODEL_LONG, MODEL_OWN_ORDER };

enum { MODEL_SEGMENTS_MAX = 30000, MODEL_STEPS_MAX = 400 };

struct model_segment {
        uint64_t low, high; /* its two records */
};

struct model {
        enum model_keys keys;
        enum cobindex_trend trend; /* that inserts are said to have */
        unsigned gives_up;         /* in so many of 100 cases nobody goes on after a step */
        bool is_strict;            /* all is checked after each step */
        struct cobindex index;
        struct chance chance;
        struct model_segment segments[MODEL_SEGMENTS_MAX];
        unsigned count;
        unsigned steps, calls, most_steps; /* of making room */
        unsigned most_pages;               /* that one wrote, by declared access */
};
extern struct model model;

/* A tree in the arena that is open; and its end, after which all pages are free. */
void model_open(enum model_keys keys);
void model_drop(void);

/* Invariants, and each segment in order, forwards and backwards, and by its keys. */
void model_check(void);

/* A new segment at a random place, or behind the n-th. */
void model_insert(void);
void model_insert_behind(unsigned n);
/* The n-th in two; and a record that is less than all. */
void model_split(unsigned n);
void model_insert_before_all(void);
/* The n-th and the one behind it have other records, and the separator between them is another. */
void model_share(unsigned n);
/* An extent more at the end, with so many segments. */
void model_append_extent(unsigned segments);
void model_free(unsigned n);
/* The first record of a segment goes, and another comes instead. */
void model_rewrite(unsigned n);

#endif
