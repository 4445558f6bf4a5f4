/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_SHORTCUT_EH_SHORTCUT_H
#define BENCH_PAPERS_SHORTCUT_EH_SHORTCUT_H

/*
 * Shortcuts: a node whose slots lead to leaves by pointers, beside an area of rewired memory that shows the leaf of
 * each slot; and a hash table whose directory is such an area, beside other hash tables. The experiments are those of
 * F. M. Schuhknecht: "Taking the Shortcut: Actively Incorporating the Virtual Memory Index of the OS to
 * Hardware-Accelerate Database Indexing", CIDR 2024.
 *
 * Everything that is measured runs in a process of its own (alone.h), in each round in turn. The sum of what was looked
 * up is compared with what it should be; a wrong one ends the program.
 */

#include <stdint.h>

struct shortcut_bench {
        uint64_t slots;   /* of a node, at most */
        uint64_t lookups; /* at random; dependent ones are a tenth */
        uint64_t remaps;
        uint64_t records; /* in a hash table */
        uint64_t fill;    /* percent at which tables of open addressing double */
        uint64_t rounds, seed;
        const char *systems; /* hash tables, or NULL: all */
        const char *tsv;     /* a folder, or NULL */
};

void lookups_run(const struct shortcut_bench *bench);
void fan_in_run(const struct shortcut_bench *bench);
void creation_run(const struct shortcut_bench *bench);
void shootdowns_run(const struct shortcut_bench *bench);
void tables_run(const struct shortcut_bench *bench);
void phases_run(const struct shortcut_bench *bench);

#endif
