/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_RING_H
#define LIBXAC_GROUND_RING_H

/*
 * What views learn of: one ring per participant, in which each of its commits leaves the pages
 * it changed while somebody reads rings. Whoever synchronises reads the rings of all.
 *
 * A ring holds commits in the order of their sequences. Entries carry the full sequence as a
 * stamp, read before and after the page: an entry that changes meanwhile, or is newer than the
 * one after it, was overwritten. A commit larger than half a ring leaves a lap instead.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/shared.h"

/* From now on this participant reads rings. Returns the last sequence that may be missing in them. Waits for nobody:
 * readers come here. */
uint64_t ring_join(struct shared *shared, struct row *row);
/* Does it? */
static inline bool ring_reads(const struct row *row)
{
        return atomic_load_explicit(&row->reads_rings, memory_order_relaxed);
}
/* It does so no more. A successor may repeat it. */
void ring_leave(struct shared *shared, struct row *row);

/* Must this commit be in a ring? Caller holds the commit lock. */
static inline bool ring_is_read(const struct control *control)
{
        return atomic_load(&control->ring_readers) & 1;
}

/* Leaves the pages of a commit, given by its first slot. Idempotent for one sequence, so that
 * a successor can finish it. Caller holds the commit lock. */
void ring_write_locked(struct shared *shared, struct row *row, uint32_t first_slot, uint64_t sequence);

/* Is called for a page that somebody changed; a false result ends the walk. */
typedef bool (*ring_visit)(void *arg, uint64_t page);

enum ring_outcome {
        RING_DONE,    /* every page changed in the interval was shown */
        RING_STOPPED, /* the visitor ended it */
        RING_LAPPED   /* part of the interval is lost: anything may have changed */
};

/* Shows the pages changed by commits in (after, until], but for those of row `except`. */
enum ring_outcome ring_walk(struct shared *shared, uint32_t except, uint64_t after, uint64_t until, ring_visit visit,
                            void *arg);

#endif
