/* SPDX-License-Identifier: MIT */
#ifndef BASE_SHLOCK_H
#define BASE_SHLOCK_H

/*
 * A lock in shared memory that survives its owner's death.
 *
 * The word holds the owner's number (1 and up; 0 = free) and, in its top bit, whether
 * somebody sleeps. It spins briefly, then sleeps on a futex; every sleep is timed, and after
 * each the owner's liveness is asked for. A dead owner's lock passes to whoever notices, who
 * is told so and must put the protected state right before using it. An owner that is alive
 * is never robbed, however long it stands still.
 *
 * A dead owner's number may be given to another one only after each of the locks it held has
 * been inherited.
 *
 * Taking it, giving it back and asking who has it are sequentially consistent.
 *
 * Not recursive; not async-signal-safe with respect to its own owner.
 *
 * Locks may have ranks, which say in which order a thread takes them. Builds with test hooks check it: a thread that
 * waits for a lock while it holds one of the same or a higher rank ends the program, and says so.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/invariant.h"

struct shlock {
        _Atomic uint32_t word;
#ifdef XAC_TEST_HOOKS
        uint32_t rank; /* 0: it has none */
#endif
};

#ifdef XAC_TEST_HOOKS

static inline void shlock_set_rank(struct shlock *lock, uint32_t rank)
{
        lock->rank = rank;
}

/* This thread is about to wait for it; has it, as `me`; has it no more. */
void shlock_check_order(const struct shlock *lock);
void shlock_note_taken(const struct shlock *lock, uint32_t me);
void shlock_note_left(const struct shlock *lock);
/* For tests in which a thread plays several owners: what it has taken so far is a dead one's. */
void shlock_note_death(void);
/* Has this thread taken it? True, too, if the lock has no rank. */
bool shlock_is_noted(const struct shlock *lock);

#else

static inline void shlock_set_rank(struct shlock *lock, uint32_t rank)
{
        (void)lock, (void)rank;
}

static inline void shlock_check_order(const struct shlock *lock)
{
        (void)lock;
}

static inline void shlock_note_taken(const struct shlock *lock, uint32_t me)
{
        (void)lock, (void)me;
}

static inline void shlock_note_left(const struct shlock *lock)
{
        (void)lock;
}

static inline void shlock_note_death(void)
{
}

static inline bool shlock_is_noted(const struct shlock *lock)
{
        (void)lock;
        return true;
}

#endif

/* Who is alive: asked only after a sleep timed out. NULL instead of one: everybody is. */
struct shlock_liveness {
        bool (*is_alive)(void *arg, uint32_t owner);
        void *arg;
};

enum {
        SHLOCK_TAKEN = 0,
        SHLOCK_INHERITED = 1 /* the owner died while it held the lock */
};

/* The top bit of the word; no owner's number has it. */
#define SHLOCK_WAITERS UINT32_C(0x80000000)

int shlock_lock_contended(struct shlock *lock, uint32_t me, const struct shlock_liveness *liveness);
void shlock_wake_one(struct shlock *lock);

/* 0 or -EBUSY; never inherits. */
static inline int shlock_try(struct shlock *lock, uint32_t me)
{
        uint32_t expected = 0;

        if (!atomic_compare_exchange_strong(&lock->word, &expected, me))
                return -EBUSY;
        shlock_note_taken(lock, me);
        return 0;
}

/* Inline, like shlock_unlock: a commit pays one compare-and-swap and one exchange for the pair. */
static inline int shlock_lock(struct shlock *lock, uint32_t me, const struct shlock_liveness *liveness)
{
        shlock_check_order(lock);
        if (shlock_try(lock, me) == 0)
                return SHLOCK_TAKEN;
        return shlock_lock_contended(lock, me, liveness);
}

static inline void shlock_unlock(struct shlock *lock)
{
        shlock_note_left(lock);
        /* An exchange also because all that was stored under the lock must have reached the others when
         * this returns, by anybody's clock; a plain store could leave it on its way for a while. */
        if (atomic_exchange(&lock->word, 0) & SHLOCK_WAITERS)
                shlock_wake_one(lock);
}

/* For whoever inherited the lock and cannot put the protected state right now: the lock is the
 * dead owner's again, and the next one inherits it. */
static inline void shlock_leave_to(struct shlock *lock, uint32_t dead_owner)
{
        shlock_note_left(lock);
        atomic_store_explicit(&lock->word, dead_owner | SHLOCK_WAITERS, memory_order_release);
        shlock_wake_one(lock);
}

/* The owner's number, 0 when free. */
static inline uint32_t shlock_owner(const struct shlock *lock)
{
        return atomic_load(&lock->word) & ~SHLOCK_WAITERS;
}

/* Asserts that somebody holds `lock`. In a build with test hooks it asserts that the calling thread does, if `lock` has
 * a rank. */
#define shlock_assert_held(lock) invariant(shlock_owner(lock) && shlock_is_noted(lock))

#endif
