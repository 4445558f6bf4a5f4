/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_LEXICON_H
#define EXAMPLES_DEMO_LEXICON_H

/*
 * A dictionary of identifiers in B+-trees: in how many files each stands, how often, and where most often. Serial
 * code: in an environment the caller wraps it in a transaction, in ordinary memory it does not, and that is all the
 * difference there is.
 *
 *      tree "identifiers"     identifier -> struct entry
 *      tree "worker 0" ...    "done" -> the number of steps of this worker that are in the dictionary
 *
 * Each worker has a tree, and so a page, of its own: pages are what transactions conflict by. As one transaction
 * changes both trees, at every moment the sum of all `files` is that of all `done`, and after a crash the
 * latter say where the workers have to go on.
 */

#include <xac/tree.h>

#include "examples/demo/acks.h"
#include "examples/demo/steps.h"

struct entry {
        uint32_t files;
        uint32_t occurrences;
        uint32_t most;               /* of them in one file ... */
        char place[STEP_PATH_BYTES]; /* ... which is this one; stored without what is behind the zero */
};

struct lexicon {
        xac_env *env; /* NULL: in ordinary memory */
        xac_arena *arena;
        xac_tree *entries;
        xac_tree *done[WORKERS_MAX];
        int workers;
};

/* Opens for this process and thread; flags and options are xac_open's. 0 or a negative code. */
int lexicon_open(struct lexicon *lexicon, const char *directory, int flags, const xac_options *options, int workers);
/* A new one in ordinary memory. */
int lexicon_open_memory(struct lexicon *lexicon, int workers);
int lexicon_close(struct lexicon *lexicon);

/* Enters one step; *done, how many the worker has done now. */
int lexicon_enter(struct lexicon *lexicon, int worker, const struct step *step, uint64_t *done);
/* How many steps each worker has done. */
int lexicon_done(struct lexicon *lexicon, uint64_t done[WORKERS_MAX]);

/* The entry that a record of the tree holds. */
struct entry lexicon_entry(const xac_tree_record *record);

#endif
