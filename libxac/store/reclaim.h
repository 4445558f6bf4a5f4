/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_RECLAIM_H
#define LIBXAC_STORE_RECLAIM_H

/*
 * Gives back slots that no snapshot can see (I4), precisely: a version that lies between two
 * active snapshots goes, whatever else an old reader holds (R1, R2, R14).
 *
 * A participant keeps what its own commits displaced and looks at it in batches. What must
 * wait long moves to shared lists, by the snapshot it waits for, where anybody who needs slots
 * looks once that snapshot has ended.
 */

#include "libxac/ground/participant.h"

/* After a commit: looks at the retired slots when there are enough of them. */
void reclaim_after_commit(struct participant *self);
/* A slot for this participant, from wherever there is one, short of writing pages home; 0 if
 * there is none. */
uint32_t reclaim_take(struct participant *self);
/* Hands everything retired over to the shared lists; before leaving. */
void reclaim_hand_over(struct participant *self);
/* Slots before anybody needs them: those whose snapshot has ended, else new memory. 0, or -ENOSPC. */
int reclaim_ahead(struct participant *self);
/* Slots that wait for a snapshot: are there any, and has nobody asked for some in a while? Who needs slots takes them
 * from there best, as their descriptors are then looked at once. */
bool reclaim_has_unasked(const struct shared *shared);
/* Gives back those whose snapshot has ended, for nobody may need slots for long. */
void reclaim_ended(struct participant *self);
/* Looks at every superseded slot that this process may judge, also those that wait. */
void reclaim_everything(struct participant *self);

#endif
