/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_EXCLUSION_H
#define LIBXAC_STORE_EXCLUSION_H

/*
 * Exclusiveness: while a participant is exclusive nobody else commits, so that a transaction gets through that has lost
 * too often (patience.h), or that finds a backlog again and again (commit.c). Only fairness depends on it: no commit
 * trusts in having been alone.
 *
 *      control->exclusive   | turn : 16 | owner : 16 |   0 = anybody may commit
 *
 * R20  It is taken under the commit lock, and looked at there by whoever commits. Turns are counted by all together, so
 *      that each exclusiveness has a word of its own. Whoever ends one does so by compare-and-swap of that word: its
 *      owner; who takes over from the dead; and who has waited and met the same word for EXCLUSION_MAX_NS, by his own
 *      clock. So nobody waits for long for one that has stopped or sleeps, or has forgotten to end. Whose exclusiveness
 *      has lapsed is a participant like all others (docs/models/exclusion.pml).
 */

#include <stdbool.h>

#include "libxac/ground/participant.h"

/* The commit lock, once nobody else is exclusive. Errors of publish_lock. */
int exclusion_lock(struct participant *self);

/* From now on nobody else commits, until it ends or lapses; one that it had before is given up. Errors of publish_lock.
 */
int exclusion_begin(struct participant *self);
/* Does nothing if it has lapsed, or never begun. */
void exclusion_end(struct participant *self);
/* It has begun, and not lapsed so far. */
bool exclusion_holds(const struct participant *self);

/* The owner is dead, and his number will be another one's. */
void exclusion_end_of_dead(struct shared *shared, uint32_t owner);

#endif
