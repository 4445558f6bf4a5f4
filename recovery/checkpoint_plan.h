/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_CHECKPOINT_PLAN_H
#define RECOVERY_CHECKPOINT_PLAN_H

/*
 * What a checkpoint in batches does, step by step (docs/models/checkpoint_batches.py shows each rule necessary). The
 * plan is made of lists of pages; it reads no disk and no shared memory. libxac/care/checkpoint_batches.c takes its
 * steps:
 *
 *      a double-write buffer with the step's images, and a list of what stands at C already (CP4); sync
 *      the manifest names it (CP7: the last step makes C the base)
 *      the step's pages go home; sync (CP6)
 *
 * batches.h has the order of pages (CP1, CP2, CP8). Besides,
 *
 *      CP9    a page that is held back stays in the pool, and is in every buffer from its own on
 *      CP10   whoever goes on for somebody who died, or failed, brings home first what the named buffer has
 *      CP11   and nothing else of what stands at C: a write of the same bytes may be torn, and no buffer has them
 *
 * A page stands at C when the named buffer has its version of C, or home has.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "recovery/batches.h"
#include "recovery/double_write.h"

struct plan_page {
        uint64_t page;
        bool is_held; /* a snapshot needs what home has (I3), or a transaction the slot */
};

struct plan_wanted {
        const struct plan_page *pages; /* those with a version in the pool, ascending */
        uint32_t count;
        const struct batches_move *moves; /* since the base; of pages that are not there, too */
        uint32_t move_count;
        const struct double_write_contents *named; /* of the buffer that the manifest names; empty if it names none */
        bool is_begun; /* C is the manifest's target: this goes on with what somebody has begun */
        uint32_t most; /* pages of a buffer */
};

struct checkpoint_plan {
        struct vector rest;       /* of uint32_t, in the order of pages: those that do not stand at C */
        struct vector rest_pages; /* of uint64_t: their pages */
        struct vector carried;    /* of uint32_t: those that do, and are held back (CP9) */
        struct vector images;     /* of uint32_t, of the last step */
        struct vector home;       /* of uint32_t, of the last step */
        struct vector listed;     /* of uint64_t, ascending: pages that stood at C before the last step */
        struct batches batches;   /* of `rest` */
        const struct plan_page *pages;
        const uint32_t *batch; /* which of `rest` the last step has brought to C */
        uint32_t batch_count;
        uint32_t carried_before; /* the last step */
        uint32_t most;
        enum { PLAN_AGAIN, PLAN_BUFFERS, PLAN_DONE } stage;
};

/* Pages are known by their index in plan_wanted.pages. Valid up to the next call. */
struct plan_step {
        bool has_buffer;       /* false: pages go home that the named buffer has (CP10) */
        bool is_last;          /* its buffer makes C the base */
        const uint32_t *image; /* in the order of pages */
        uint32_t image_count;
        const uint32_t *home; /* the same */
        uint32_t home_count;
        const uint64_t *listed; /* ascending */
        uint32_t listed_count;
};

/* 0 or -ENOMEM; free it in any case. `wanted->pages` stays the caller's, until then. */
int checkpoint_plan_make(struct checkpoint_plan *plan, const struct plan_wanted *wanted);
void checkpoint_plan_free(struct checkpoint_plan *plan);

/* The next step. The one before was taken. 0 or -ENOMEM. */
int checkpoint_plan_next(struct checkpoint_plan *plan, struct plan_step *step);
/* The disk has no room for the last step's buffer, of which nothing is named: the next step begins where that began,
 * and has half as many pages. -ENOSPC: they are too few for that. */
int checkpoint_plan_halve(struct checkpoint_plan *plan);
bool checkpoint_plan_is_done(const struct checkpoint_plan *plan);

#endif
