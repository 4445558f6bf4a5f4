/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_WAITERS_H
#define LIBXAC_GROUND_WAITERS_H

/*
 * Participants that sleep until one of some pages changes, and how a commit wakes them. R21, docs/models/wait.pml.
 *
 *      AWAKE ──enter──> WAITING ──a commit with such a page──> MARKED
 *        ^─────────leave───┴──────────────leave───────────────────┘
 *
 * A row's word is what its participant sleeps on (a futex). Which pages it waits for is a filter (B. H. Bloom, 1970) of
 * one bit for each page, in memory of its own: a bit that two pages share wakes in vain. The filter hashes by a salt,
 * which is another one after each time in vain, so that the same two pages do not meet again.
 *
 * control->waiters is all that a commit looks at while nobody waits. Both flags change under the commit lock only.
 *
 *      WAITERS_SOME     some row may be waiting or marked; a commit that finds all awake clears it
 *      WAITERS_MARKED   who has marked some is to wake them when it gives up the lock
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/participant.h"

enum waiters_word { WAITER_AWAKE = 0, WAITER_WAITING, WAITER_MARKED };
enum { WAITERS_SOME = 1, WAITERS_MARKED = 2 };

/* Memory for the row's filter, once. -ENOSPC, -ENOMEM. */
int waiters_prepare(struct participant *self);
/* The pages that it will wait for; it is awake. */
void waiters_fill(struct participant *self, const uint64_t *pages, uint32_t count, uint64_t salt);
/* From now on commits with such a page mark it. Caller holds the commit lock. */
void waiters_enter_locked(struct participant *self);
/* It is awake again; was it marked? */
bool waiters_leave(struct row *row);

static inline bool waiters_is_waiting(const struct row *row)
{
        return atomic_load_explicit(&row->waiter, memory_order_acquire) == WAITER_WAITING;
}

/* Whoever waits sleeps until it is marked, or so long. A cancellation point. */
void waiters_sleep(struct row *row, uint64_t timeout_ns);

/* Might somebody be waiting? */
static inline bool waiters_are_some(const struct control *control)
{
        return atomic_load_explicit(&control->waiters, memory_order_relaxed) & WAITERS_SOME;
}

/* Marks those who wait for a page of a commit, given by its first slot. Idempotent, so that a successor can finish it.
 * Caller holds the commit lock, and has not stored the commit's sequence. */
void waiters_mark_locked(struct shared *shared, uint32_t first_slot);
/* Are there marked ones to be woken, once the lock is given up? Caller holds the commit lock. */
static inline bool waiters_are_marked_locked(struct control *control)
{
        uint32_t flags = atomic_load_explicit(&control->waiters, memory_order_relaxed);
        if (flags & WAITERS_MARKED)
                atomic_store_explicit(&control->waiters, flags & ~(uint32_t)WAITERS_MARKED, memory_order_relaxed);
        return flags & WAITERS_MARKED;
}
/* Wakes all who are marked, also those whom a dead or stopped process should have woken. */
void waiters_wake(struct shared *shared);
/* Marks and wakes all: nothing will change any more. */
void waiters_wake_all(struct shared *shared);

#endif
