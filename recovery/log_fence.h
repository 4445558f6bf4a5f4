/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_FENCE_H
#define RECOVERY_LOG_FENCE_H

/*
 * New files in the place of those that a stopped leader may still write to.
 *
 * A position of the log always stands at its place in its segment; but the file of a segment can be replaced. Whoever
 * takes the turn from somebody who lives does that before he writes: what the other one writes when he wakes up goes
 * into a file that has no name any more. Log format and recovery know nothing of it.
 *
 *      make    xac.log-new.TURN.OWNER.N: header and bytes of xac.log.N up to what is written; sync
 *              (the turn is taken, or looked at once more)
 *      enter   new files of earlier turns are removed; rename to xac.log.N; sync of the directory; descriptors that are
 *              open are void from here on
 *
 * Two can be at it at once, as whoever is fencing may be stopped, too. Who has the later turn removes the other's new
 * file, so that it gets the log's name before that or never (docs/models/fence.py, R31, R34).
 */

#include <stdint.h>

#include "recovery/log_segments.h"

struct log_fence {
        uint64_t number; /* of the turn in which they are entered */
        uint32_t owner;
        uint32_t count; /* of segments whose new files are made, the first of them */
        uint64_t first;
};

/* What is replaced: the segments of [from, to). What lies before `from` is kept; of that, what lies at `durable` and
 * behind was never synced. */
struct log_fence_range {
        uint64_t durable;
        uint64_t from;
        uint64_t to;
};

/* Makes those files that are not yet there. Local failures, -EIO. */
int log_fence_make(struct log_fence *fence, struct log_segments *segments, const struct log_fence_range *range);
/* Puts them in place. The caller's turn stood after they had been made. LOG_OVERTAKEN: somebody has removed them. */
int log_fence_enter(struct log_fence *fence, struct log_segments *segments);
/* Removes those that were not put in place. */
void log_fence_discard(struct log_fence *fence, struct log_segments *segments);
/* Removes the new files of all turns before this one, and the owner's own; 0: nobody's. */
int log_fence_tidy(struct log_segments *segments, uint64_t number, uint32_t owner);

#endif
