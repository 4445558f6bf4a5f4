/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_VERSIONS_H
#define BENCH_PAPERS_ANKER_HTAP_VERSIONS_H

/*
 * The columns of the homogeneous engine, as the paper has them: the newest value in place, a chain of older ones for
 * each row, newest first, and for each block of 1,024 rows the first and last row that has a chain (HyPer's hints).
 *
 *      value[row]      the newest
 *      chain[row] ---> { value before commit 9, 9 } ---> { value before commit 5, 5 } ---> NULL
 *
 * A snapshot as of commit s sees what stands before the oldest commit behind s, or the value in place.
 *
 * A version is in its chain before the new value is in place, so that who reads first the value and then the chain
 * never takes a value for older than it is. Blocks without chains are read in place at full speed: `sequence` is odd
 * while a block changes, and whoever was in it looks again whether it is what it was (a seqlock). Columns that no
 * transaction writes have neither chains nor hints.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "bench/papers/anker/htap/engine.h"

struct version {
        struct version *_Atomic next;
        uint64_t until; /* the commit that replaced the value */
        int32_t value;
};

struct block_hint {
        _Atomic uint32_t sequence;
        _Atomic uint32_t span; /* first row << 16 | last row; SPAN_NONE: no row has a chain */
};

enum { SPAN_NONE = 0x03ff << 16 /* the last row to the first */ };

struct versioned {
        uint32_t rows;
        _Atomic int32_t *value;
        struct version *_Atomic *chain;
        struct block_hint *hint;
};

struct version_list {
        struct version *first;
        uint64_t count;
};

int versioned_open(struct versioned *column, const int32_t *values, uint32_t rows, bool is_written);
void versioned_close(struct versioned *column);

int32_t versioned_get(const struct versioned *column, uint32_t row, uint64_t snapshot);
const int32_t *versioned_block(const struct versioned *column, struct stretch stretch, uint64_t snapshot,
                               struct block_pin *pin);
const int32_t *versioned_in_place(const struct versioned *column, struct stretch stretch, struct block_pin *pin);
bool versioned_is_unchanged(const struct versioned *column, struct stretch stretch, const struct block_pin *pin);
/* Was the row written behind the snapshot? */
bool versioned_is_newer(const struct versioned *column, uint32_t row, uint64_t snapshot);
/* The caller is the only one who commits. */
void versioned_install(struct versioned *column, uint32_t row, int32_t value, uint64_t commit, struct version *version);
/* What no snapshot from `oldest` on can see goes to `dropped`, linked; returns how many. */
uint64_t versioned_collect(struct versioned *column, uint64_t oldest, struct version_list *dropped);

#endif
