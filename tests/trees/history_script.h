/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_HISTORY_SCRIPT_H
#define TESTS_TREES_HISTORY_SCRIPT_H

/*
 * Random transactions on trees: a seed says what one looks up, scans, walks, puts and deletes, where it nests, and what
 * it undoes. The same script is played twice, on the trees by a worker and on plain memory by the judge; everything
 * that the first was told is noted, and the second must be told the same.
 *
 * Keys and values are numbers here. Whoever plays a script makes bytes of them (history_keys.h); every value that is
 * put is another one, its tag.
 */

#include <stdbool.h>
#include <stdint.h>

enum { HISTORY_TREES = 3, HISTORY_KEYS_MAX = 1024, SCRIPT_WORDS_MAX = 2048, SCRIPT_DEPTH_MAX = 5 };

/* What all scripts of a run have in common. */
struct script_world {
        unsigned keys;          /* of each tree: 0 ... keys - 1 */
        unsigned steps_max;     /* of a transaction */
        bool has_snapshots;     /* some are XAC_SNAPSHOT_ISOLATION */
        bool has_durable_reads; /* half of the readers are XAC_DURABLE */
};

/* What a script plays on. 0, -ENOENT and -EEXIST are outcomes; with any other result the script ends there. Cursors:
 * one for each tree, which each walk places anew. Levels: begin is told only of inner ones. */
struct script_target {
        int (*get)(void *target, unsigned tree, unsigned key, uint64_t *tag);
        int (*put)(void *target, unsigned tree, unsigned key, uint64_t tag, int flags);
        int (*remove)(void *target, unsigned tree, unsigned key);
        /* Keys from `from` up to, not including, `to`; a visit that does not return 0 ends it, and is not told on. */
        int (*scan)(void *target, unsigned tree, unsigned from, unsigned to,
                    int (*visit)(void *arg, unsigned key, uint64_t tag), void *arg);
        int (*count)(void *target, unsigned tree, uint64_t *records);
        int (*seek)(void *target, unsigned tree, unsigned how, unsigned key); /* enum script_seek */
        int (*step)(void *target, unsigned tree, bool is_forward);
        int (*record)(void *target, unsigned tree, unsigned *key, uint64_t *tag);
        int (*remove_here)(void *target, unsigned tree);
        int (*begin)(void *target, int flags);
        int (*end)(void *target);
        int (*abort)(void *target);
};

enum script_seek { SCRIPT_GE, SCRIPT_LE, SCRIPT_EQ, SCRIPT_FIRST, SCRIPT_LAST, SCRIPT_SEEKS };

/* How a script is run. */
enum script_way {
        SCRIPT_PLAINLY, /* xbegin, xend */
        SCRIPT_BY_RUN,  /* xac_run */
        SCRIPT_ALONE    /* a single call, outside of transactions */
};

enum script_wish { SCRIPT_WANTS_COMMIT, SCRIPT_WANTS_ABORT };

struct script {
        const struct script_world *world;
        const struct script_target *on;
        void *target;
        uint64_t seed;
        uint64_t tag;       /* the first of 256 that are this attempt's */
        bool shrinks;       /* it deletes more than it puts */
        unsigned calls_max; /* stop after so many calls; UINT32_MAX: play to the end */

        /* Results. */
        unsigned calls;
        int stopped;    /* what the call that ended it returned; 0: it was played to the end */
        unsigned depth; /* levels open: 1 is the outermost */
        unsigned puts;
        bool has_written; /* and not undone, or perhaps so */
        unsigned word_count;
        uint64_t words[SCRIPT_WORDS_MAX]; /* what it did, and what it was told */
};

enum script_way script_way(uint64_t seed);
/* The flags of the outermost level. */
int script_flags(const struct script_world *world, uint64_t seed);

enum script_wish script_play(struct script *script);

/* A word of those noted that begins a step, for people. NULL: it is no such word. */
const char *script_step_name(uint64_t word);

#endif
