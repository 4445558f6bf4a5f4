/* SPDX-License-Identifier: MIT */
#include "base/shlock.h"

/*
 * The contended half of the lock. Values of the word:
 *
 *      0                    free; unlock stores it whatever was there before
 *      owner                held, nobody sleeps
 *      owner | WAITERS      held, somebody may sleep: unlock wakes one
 *
 * 1. Nobody sleeps on a word without WAITERS: the kernel compares the word before it lets a
 *    thread sleep, and the value waited for always has the bit.
 * 2. Unlock clears the bit although several may sleep; so whoever has slept takes the lock
 *    together with the bit and wakes the next sleeper when it unlocks. A newcomer that slips
 *    in between takes it without the bit; the woken thread then sets it again.
 * 3. Should the woken thread die before it has done so, or the owner between its unlock and
 *    its wake, the others find out when their sleep ends: every sleep is timed.
 * 4. The verdict "dead" may be old by the time the word is replaced: another one may have
 *    inherited and unlocked, and a living bearer of the same number may have the lock now. So
 *    the heir asks again when the word is its own. If the owner was dead then, its number cannot
 *    come back before the heir is done; if it is alive, the word is put back.
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

enum {
        SPINS = 150,
        MS = 1000000,
        FIRST_SLEEP_NS = 10 * MS, /* a death is rare: soon enough to notice ... */
        NEXT_SLEEP_NS = 50 * MS   /* ... and seldom enough to leave a stopped owner in peace */
};

#ifndef XAC_TEST_HOOKS
_Static_assert(sizeof(struct shlock) == sizeof(uint32_t), "the futex word is the whole lock");
#endif

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("isb" ::: "memory"); /* `yield` is a no-op on most cores */
#else
        atomic_signal_fence(memory_order_seq_cst);
#endif
}

static const uint32_t *futex_word(struct shlock *lock)
{
        return (const uint32_t *)&lock->word;
}

static bool replace(struct shlock *lock, uint32_t expected, uint32_t desired)
{
        return atomic_compare_exchange_strong(&lock->word, &expected, desired);
}

static bool spin(struct shlock *lock, uint32_t mine)
{
        for (int i = 0; i < SPINS; i++) {
                if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 && replace(lock, 0, mine))
                        return true;
                cpu_relax();
        }
        return false;
}

/* One sleep until `deadline_ns`, unless the lock is free or changes under us. */
static void sleep_until(struct shlock *lock, uint64_t now_ns, uint64_t deadline_ns)
{
        uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);

        if (seen == 0)
                return;
        if (!(seen & SHLOCK_WAITERS) && !replace(lock, seen, seen | SHLOCK_WAITERS))
                return;
        sys_futex_wait(futex_word(lock), seen | SHLOCK_WAITERS, deadline_ns - now_ns);
}

/* Takes the lock from its owner if that one is dead. */
static bool inherit(struct shlock *lock, uint32_t me, const struct shlock_liveness *liveness)
{
        uint32_t seen = atomic_load_explicit(&lock->word, memory_order_acquire);
        uint32_t owner = seen & ~SHLOCK_WAITERS;
        /* Others may sleep on the dead owner's word, whatever its top bit says by now. */
        uint32_t mine = me | SHLOCK_WAITERS;

        if (!liveness || owner == 0 || liveness->is_alive(liveness->arg, owner))
                return false;
        if (!replace(lock, seen, mine))
                return false;
        if (liveness->is_alive(liveness->arg, owner)) {
                replace(lock, mine, owner | SHLOCK_WAITERS); /* unless it has unlocked meanwhile */
                return false;
        }
        /* The dead owner released nothing: its stores are ordered by the death we learned of. */
        atomic_thread_fence(memory_order_seq_cst);
        return true;
}

static int wait_and_take(struct shlock *lock, uint32_t me, const struct shlock_liveness *liveness)
{
        uint64_t now_ns;
        uint64_t deadline_ns;

        assert(me != 0 && !(me & SHLOCK_WAITERS));
        assert(shlock_owner(lock) != me);
        if (spin(lock, me))
                return SHLOCK_TAKEN;
        now_ns = sys_monotonic_ns();
        deadline_ns = now_ns + FIRST_SLEEP_NS;
        for (;;) {
                sleep_until(lock, now_ns, deadline_ns);
                if (spin(lock, me | SHLOCK_WAITERS))
                        return SHLOCK_TAKEN;
                now_ns = sys_monotonic_ns();
                if (now_ns < deadline_ns)
                        continue;
                if (inherit(lock, me, liveness))
                        return SHLOCK_INHERITED;
                deadline_ns = now_ns + NEXT_SLEEP_NS;
        }
}

int shlock_lock_contended(struct shlock *lock, uint32_t me, const struct shlock_liveness *liveness)
{
        int how = wait_and_take(lock, me, liveness);

        shlock_note_taken(lock, me);
        return how;
}

void shlock_wake_one(struct shlock *lock)
{
        sys_futex_wake(futex_word(lock), 1);
}

/* ---- the order of locks, in test builds ---- */

#ifdef XAC_TEST_HOOKS

enum { HELD_MAX = 8 };

/* What this thread holds. */
static _Thread_local struct {
        const struct shlock *lock;
        uint32_t me;
} held[HELD_MAX];

void shlock_check_order(const struct shlock *lock)
{
        for (int i = 0; lock->rank && i < HELD_MAX; i++) {
                const struct shlock *other = held[i].lock;

                if (!other || other == lock || other->rank < lock->rank)
                        continue;
                fprintf(stderr, "lock order: owner %u waits for a lock of rank %u, and holds one of rank %u\n",
                        held[i].me, lock->rank, other->rank);
                abort();
        }
}

void shlock_note_taken(const struct shlock *lock, uint32_t me)
{
        for (int i = 0; lock->rank && i < HELD_MAX; i++)
                if (!held[i].lock || held[i].lock == lock) {
                        held[i].lock = lock;
                        held[i].me = me;
                        return;
                }
}

void shlock_note_left(const struct shlock *lock)
{
        for (int i = 0; i < HELD_MAX; i++)
                if (held[i].lock == lock)
                        held[i].lock = NULL;
}

bool shlock_is_noted(const struct shlock *lock)
{
        bool is_noted = !lock->rank;

        for (int i = 0; i < HELD_MAX; i++)
                is_noted |= held[i].lock == lock;
        return is_noted;
}

void shlock_note_death(void)
{
        memset(held, 0, sizeof(held));
}

#endif
