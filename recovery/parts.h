/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_PARTS_H
#define RECOVERY_PARTS_H

/*
 * In which order the pages of a checkpoint go home, when they go in parts (docs/models/checkpoint_parts.py).
 *
 * Until the last part is home, the log is replayed on pages of two ages: those that are home as of the new
 * checkpoint, for which its records are passed over (CP3), and all others. A record that says "moved from page X" needs
 * the X of before. So
 *
 *      CP1   a page goes home no later than those that it was moved from since the base
 *      CP2   pages that were moved in a circle go home in one part
 *      CP8   what the area before has, and home lacks, goes with the first part, as that area is given up then
 *
 * Pages that must go together are a cluster. Clusters are the strongly connected components of the moves (Tarjan 1972),
 * which come out in the order that is wanted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"

struct parts_move {
        uint64_t target;
        uint64_t source; /* the page that it was, before */
};

/* Pages are known by their index in the list that was given. */
struct parts {
        struct vector order;   /* of uint32_t */
        struct vector ends;    /* of uint32_t: where in `order` each cluster ends */
        struct vector part;    /* of uint32_t: the last part's pages, ascending */
        uint32_t cluster;      /* the next one that is not in a part yet */
        uint32_t part_cluster; /* the first one of the last part */
};

struct parts_wanted {
        const uint64_t *pages; /* ascending */
        uint32_t count;
        const struct parts_move *moves; /* of pages that are not there, too */
        uint32_t move_count;
        const uint64_t *first; /* pages that must go with the first part, ascending; of others, too */
        uint32_t first_count;
};

/* 0 or -ENOMEM; free it in any case. Does not use malloc. */
int parts_plan(struct parts *parts, const struct parts_wanted *wanted);
void parts_free(struct parts *parts);

/* The next part: as many clusters as have `limit` pages together, and at least one. Returns how many pages, 0 at the
 * end; *pages are their indices, ascending. */
uint32_t parts_next(struct parts *parts, uint32_t limit, const uint32_t **pages);
/* The last part did not fit: the next one begins where that began. */
void parts_again(struct parts *parts);
/* Was that the last one? */
bool parts_are_done(const struct parts *parts);

/* Adds pages, ascending, to a list that is; a page is there once. indices: which of `pages`; NULL: the first `count`.
 */
int parts_list_add(struct vector *list, const uint64_t *pages, const uint32_t *indices, uint32_t count);

/* Is a page in an ascending list? */
bool parts_have(const uint64_t *pages, uint32_t count, uint64_t page);

#endif
