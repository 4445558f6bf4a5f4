/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_HISTORY_DESK_H
#define TESTS_TREES_HISTORY_DESK_H

/*
 * A thread's trees, as scripts play on them. A key or a value that nobody can have put there ends the process: no
 * transaction sees such a thing, whatever becomes of it.
 */

#include "tests/support/chance.h"
#include "tests/trees/history_keys.h"
#include "tests/trees/history_script.h"
#include "tests/trees/xtree.h"

struct desk {
        xac_env *env;
        xac_arena *arenas[2]; /* the last tree is in a file of its own */
        xac_tree *trees[HISTORY_TREES];
        xac_tree_cursor *cursors[HISTORY_TREES];
        struct chance chance; /* for what is not part of a script */
        unsigned char value[HISTORY_VALUE_MAX];
};

extern const struct script_target desk_target;

/* Opens all, and creates what is not there. */
void desk_open(struct desk *desk, xac_env *env, enum xac_arena_access access);
void desk_close(struct desk *desk);
/* xac_tree_check says of each file that all is well. */
void desk_check(struct desk *desk);

#endif
