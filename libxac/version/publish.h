/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VERSION_PUBLISH_H
#define LIBXAC_VERSION_PUBLISH_H

/*
 * The commit lock and what is done under it: versions become the newest of their pages, home
 * takes the place of slots.
 *
 * One store decides (R5): control->decided = sequence + 1. Before it, an owner's death leaves
 * nothing; after it, whoever inherits the lock finishes the commit from the intent in the dead
 * owner's row, skipping what is done already. There is no undo.
 */

#include <stdint.h>

#include "libxac/ground/participant.h"

/* Takes the commit lock, finishing a dead owner's commit first. -ENOMEM: that one's pages
 * cannot be mapped here; the lock is not taken. */
int publish_lock(struct shared *shared, uint32_t owner);
void publish_unlock(struct shared *shared);

/* Publishes the slots of the participant's intent as one commit and returns its sequence. Its record is
 * staged in the log up to log_end (0: volatile), if it has one. Displaced slots go to the participant's retired list.
 * Cannot fail (I5). */
uint64_t publish_intent_locked(struct participant *self, uint64_t log_end);

/* The record of the backlog is staged in the log up to log_end, and decided by one store, as a commit is (R19). */
void publish_merge_locked(struct shared *shared, uint64_t log_end);

/* Home holds the content of these slots now (R13): their pages' heads say so from here on. Slots
 * superseded meanwhile are left alone. The displaced go to the participant's retired list. */
void publish_home_locked(struct participant *self, const uint32_t *slots, uint32_t count);

#endif
