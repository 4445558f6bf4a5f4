/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_ROUND_H
#define TESTS_OPERATOR_OPERATOR_ROUND_H

/*
 * One round of the drill: a moment and its backups are put in their places, harmed, and looked after by tools in random
 * order. What is known of it meanwhile.
 */

#include "tests/operator/operator_harm.h"
#include "tests/operator/operator_pool.h"
#include "tests/operator/operator_tally.h"
#include "tests/operator/operator_tools.h"

enum { ROUND_TOLD = 1024 };

struct round {
        uint64_t number;
        struct pool *pool;
        const struct moment *moment;
        const struct pool_backup *full, *next; /* NULL: there is none */
        struct chance chance;
        struct harm harm;
        struct tools_run run; /* the last one */
        struct tally *tally;
        const char *seeds; /* what repeats this round */
        bool is_verbose;
        const char *keep; /* a directory for what failed first of each class; NULL: none */

        const struct image *harmed;        /* the environment, before the first tool */
        bool has_origin[POOL_MOMENTS + 1]; /* whose manifest the environment has */
        unsigned to_be_seen;               /* bits of data files that are others, by their length and time */
        bool is_on;                        /* a program went on from a moment of the pool: it is the last one */
        bool has_memory;                   /* shared memory of a program that was killed may be there */
        bool is_taken;    /* somebody opened it as it was, and said so: what was changed is its content now */
        bool is_given_up; /* log, by --give-up-damaged */
        bool is_forced;   /* it may have been open without its archive */
        bool was_killed;  /* a tool: what it was doing is half done */
        bool was_repaired;
        bool has_failed;
        char told[ROUND_TOLD]; /* which tools ran, and how they ended */
        size_t told_len;
};

void round_run(struct round *round);

#endif
