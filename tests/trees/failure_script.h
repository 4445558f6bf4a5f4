/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_FAILURE_SCRIPT_H
#define TESTS_TREES_FAILURE_SCRIPT_H

/*
 * All kinds of operations on trees, one after the other, some of them in a transaction; any of them may fail
 * (failing.h), and what is there then is known from their codes. A code that means damage ends the process.
 */

#include <stdbool.h>

#include <xac/arena.h>

#include "tests/trees/xtree.h"

enum entry { IN_MEMORY, IN_FILE, IN_VIEW, DECLARED, DECLARED_DURABLE, VIEW_NOSYNC, ENTRIES };

extern const struct entry_facts {
        const char *name;
        bool is_env;
        int open_flags;
        enum xac_arena_access access;
} entries[ENTRIES];

/* In the scratch directory; nothing fails yet. */
void script_prepare(enum entry entry, enum xtree_kind kind);
void script_play(void);
/* Nothing fails any more: everything is as the codes said, and the script runs through; closes and frees all. */
void script_prove(void);
/* Removes what prepare made, also when a process died in the middle. */
void script_clean_up(void);

#endif
