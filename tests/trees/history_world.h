/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_HISTORY_WORLD_H
#define TESTS_TREES_HISTORY_WORLD_H

/*
 * A run of the history test: its options, what its processes share, and what a worker notes of each attempt:
 *
 *      struct record | words [word_count] | next record ...
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/xac.h>

#include "tests/support/crew.h"
#include "tests/trees/history_script.h"

enum { HISTORY_WORKERS_MAX = 32, RECORD_LOG_WORDS = 1 << 21 };

enum history_mode { MODE_VIEW, MODE_DECLARED, MODE_MIXED };

struct history_options {
        uint64_t seed;
        uint64_t transactions;
        double seconds; /* 0: no limit */
        int processes;
        int threads;
        enum history_mode mode;
        uint64_t round; /* transactions of one round */
        uint64_t pool_bytes;
        uint32_t page_bytes;
        int open_flags;  /* XAC_VOLATILE; XAC_NOSYNC */
        int checkpoints; /* now and then, by the workers */
        int reopen;      /* everybody closes after every round */
        struct script_world script;
};

struct record {
        uint64_t seed;
        uint64_t tag;
        uint64_t begin_ns; /* the transaction began after this, */
        uint64_t end_ns;   /* and had ended before that */
        uint64_t snapshot; /* number of the newest commit that it saw */
        uint64_t sequence; /* number of its own commit; 0: it published nothing */
        int32_t outcome;   /* what xend returned, or RECORD_ABORTED */
        uint32_t calls;
        uint32_t was_stopped;
        uint32_t word_count;
};

#define RECORD_ABORTED 1 /* by its own wish */

struct record_log {
        uint64_t used; /* words */
        uint64_t attempts;
        uint64_t transactions; /* attempts that were not lost */
        uint64_t conflicts;
        uint64_t full; /* lost to XAC_FULL */
        uint64_t words[RECORD_LOG_WORDS];
};

/* Shared memory; made before the workers are. */
struct history_world {
        struct history_options options;
        char directory[256];
        struct crew_turn rounds_begun;
        struct crew_turn workers_done; /* counts worker processes, all rounds together */
        _Atomic uint32_t is_over;
        uint64_t quota;          /* of each worker, this round */
        struct record_log log[]; /* of each worker */
};

static inline size_t record_words(const struct record *record)
{
        return sizeof(*record) / 8 + record->word_count;
}

static inline const uint64_t *record_told(const struct record *record)
{
        return (const uint64_t *)(record + 1);
}

/* An attempt has 256 tags, from this one on. */
static inline uint64_t tag_make(uint32_t round, uint32_t worker, uint64_t attempt)
{
        return (uint64_t)(worker + 1) << 56 | (uint64_t)(round & 0xffff) << 40 | attempt << 8;
}

static inline bool round_shrinks(uint32_t round)
{
        return round % 2;
}

#endif
