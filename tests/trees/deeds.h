/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_DEEDS_H
#define TESTS_TREES_DEEDS_H

/*
 * Transactions on trees whose outcome is known beforehand, for those who must know what was there after any number of
 * them: who kills processes, and who cuts the power.
 *
 * A lane is a row of deeds with numbers from 1 on. What deed k does follows from the seed, the lane and k alone, and
 * goes through one function both for the trees and for memory. The keys of a lane are its own, but stand between those
 * of the others, so that all meet in the same leaves:
 *
 *      "numbers"    keys of 8 bytes, all lanes'
 *      "words"      keys and values of any length, all lanes'
 *      "lane-3"     the lane's own, which is dropped and made anew now and then; holds the number of its newest deed
 *
 * Trees grow for a while, and then shrink, so that there are splits and merges. All are in one file.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/trees/sorted.h"
#include "tests/trees/xtree.h"

enum {
        DEEDS_NUMBERS,
        DEEDS_WORDS,
        DEEDS_OWN /* + lane */,
        DEEDS_LANES_MAX = 16,
        DEEDS_TREES_MAX = DEEDS_OWN + DEEDS_LANES_MAX
};

struct deeds {
        enum xtree_kind kind; /* which deeds_open chooses for the process */
        uint64_t seed;
        unsigned lanes;
        unsigned keys;           /* of each lane, in each tree */
        unsigned period;         /* deeds in which trees grow, and in which they shrink again */
        unsigned large_permille; /* of the changes put values of several pages */
        unsigned bulk_permille;  /* of the deeds put or delete many neighbours, a few to a page */
        /* For histories that go on otherwise after a crash than they did before: another number, another deed. NULL: no
         * such. */
        uint64_t (*salt)(const void *arg, unsigned lane, uint64_t k);
        const void *salt_arg;
};

/* ---- on trees ---- */

/* A thread's. */
struct deeds_desk {
        const struct deeds *deeds;
        xac_env *env;
        xac_arena *arena;
        xac_tree *trees[DEEDS_TREES_MAX];
        bool is_doubtful[DEEDS_TREES_MAX]; /* made anew in a transaction that may not have taken effect */
};

/* Opens the arena and all trees, and creates what is not there. The first code that is not 0; all is to be closed then,
 * too. */
int deeds_open(struct deeds_desk *desk, const struct deeds *deeds, xac_env *env, enum xac_arena_access access);
int deeds_close(struct deeds_desk *desk);
/* In a transaction, before lanes are looked at that others work on. */
int deeds_refresh(struct deeds_desk *desk);

/* Does the next deed of the lane in a transaction of its own, until it has another result than XAC_CONFLICT. Several
 * desks may work on a lane by turns. None beyond number `most`: *k is 0 then. `about` is told of the number before the
 * transaction ends; NULL. */
int deeds_commit(struct deeds_desk *desk, unsigned lane, uint64_t most, int flags,
                 void (*about)(void *arg, unsigned lane, uint64_t k), void *arg, uint64_t *k);

/* In a transaction: the number of the lane's newest deed. */
int deeds_counter(struct deeds_desk *desk, unsigned lane, uint64_t *k);

/* ---- in memory ---- */

/* Zeroed: before the first. */
struct deeds_state {
        uint64_t done[DEEDS_LANES_MAX];
        struct sorted trees[DEEDS_TREES_MAX];
        unsigned skipping; /* levels that will be undone */
};

/* Goes on to so many deeds of each lane; begins anew where there were more. */
void deeds_go_to(struct deeds_state *state, const struct deeds *deeds, const uint64_t *done);
void deeds_forget(struct deeds_state *state);

/* Whether the trees hold this, and xac_tree_check finds nothing. What differs is said in `text`. In a transaction. */
bool deeds_are_done(const struct deeds_state *state, struct deeds_desk *desk, char *text, size_t text_len);

#endif
