/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_SHORTCUT_EH_SHORTCUT_SYSTEMS_H
#define BENCH_PAPERS_SHORTCUT_EH_SHORTCUT_SYSTEMS_H

/*
 * The hash tables (hash_table.h) that were chosen, in one list.
 */

#include "bench/papers/shortcut-eh/hash_table.h"
#include "bench/support/table.h"

enum { HASH_SYSTEMS_MAX = 16 };

struct hash_systems {
        int count;
        const struct hash_system *system[HASH_SYSTEMS_MAX];
};

/* names: separated by commas; NULL: all. Ends the program when there is no such system. */
void hash_systems_choose(struct hash_systems *systems, const char *names);
/* The first two fields of a row. */
void hash_systems_print(struct table *table, const struct hash_system *system);

#endif
