/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_BATCHES_H
#define RECOVERY_BATCHES_H

/*
 * In which order the pages of a checkpoint go home, when they go in batches (docs/models/checkpoint_batches.py).
 *
 * Until the last batch is home, the log is replayed on pages of two ages: those that are home as of the new
 * checkpoint, for which its records are passed over (CP3), and all others. A record that says "moved from page X" needs
 * the X of before. So
 *
 *      CP1   a page goes home no later than those that it was moved from since the base
 *      CP2   pages that were moved in a circle go home in one batch
 *      CP8   what the double-write buffer before has, and home lacks, goes with the first batch, as that buffer is
 *            given up then
 *
 * Pages that must go together are a cluster. Clusters are the strongly connected components of the moves (Tarjan 1972),
 * which come out in the order that is wanted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"

struct batches_move {
        uint64_t target;
        uint64_t source; /* the page that it was, before */
};

/* Pages are known by their index in the list that was given. */
struct batches {
        struct vector order;    /* of uint32_t */
        struct vector ends;     /* of uint32_t: where in `order` each cluster ends */
        struct vector batch;    /* of uint32_t: the last batch's pages, ascending */
        uint32_t cluster;       /* the next one that is not in a batch yet */
        uint32_t batch_cluster; /* the first one of the last batch */
};

struct batches_wanted {
        const uint64_t *pages; /* ascending */
        uint32_t count;
        const struct batches_move *moves; /* of pages that are not there, too */
        uint32_t move_count;
        const uint64_t *first; /* pages that must go with the first batch, ascending; of others, too */
        uint32_t first_count;
};

/* 0 or -ENOMEM; free it in any case. Does not use malloc. */
int batches_plan(struct batches *batches, const struct batches_wanted *wanted);
void batches_free(struct batches *batches);

/* The next batch: as many clusters as have `limit` pages together, and at least one. Returns how many pages, 0 at the
 * end; *pages are their indices, ascending. */
uint32_t batches_next(struct batches *batches, uint32_t limit, const uint32_t **pages);
/* The last batch did not fit: the next one begins where that began. */
void batches_again(struct batches *batches);
/* Was that the last one? */
bool batches_are_done(const struct batches *batches);

/* Adds pages, ascending, to a list that is; a page is there once. indices: which of `pages`; NULL: the first `count`.
 */
int batches_list_add(struct vector *list, const uint64_t *pages, const uint32_t *indices, uint32_t count);

/* Is a page in an ascending list? */
bool batches_have(const uint64_t *pages, uint32_t count, uint64_t page);

#endif
