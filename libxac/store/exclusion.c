/* SPDX-License-Identifier: MIT */
#include "libxac/store/exclusion.h"

#include <limits.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/version/publish.h"

enum {
        EXCLUSION_MAX_NS = 100000000, /* met for so long by one who waits, it lapses */
        EXCLUSION_WAIT_NS = 10000000  /* then it is asked whether the exclusive one lives */
};

/* What one who waits has met, and since when by his own clock: those of others may be of another time namespace. */
struct watch {
        uint32_t word;
        uint64_t since_ns;
};

/* That one, and no other that may stand there by now. */
static void lift(struct shared *shared, uint32_t word)
{
        invariant(word);
        _Atomic uint32_t *exclusive = &shared->control->exclusive;
        uint32_t expected = word;
        if (atomic_compare_exchange_strong(exclusive, &expected, 0))
                sys_futex_wake((const uint32_t *)exclusive, INT_MAX);
}

static bool has_met_for_long(struct watch *watch, uint32_t word)
{
        uint64_t now_ns = sys_monotonic_ns();
        if (watch->word != word)
                *watch = (struct watch){ word, now_ns };
        return now_ns - watch->since_ns >= EXCLUSION_MAX_NS;
}

static void wait_for(struct shared *shared, uint32_t word, struct watch *watch)
{
        _Atomic uint32_t *exclusive = &shared->control->exclusive;
        if (has_met_for_long(watch, word)) {
                lift(shared, word);
                return;
        }
        sys_futex_wait((const uint32_t *)exclusive, word, EXCLUSION_WAIT_NS);
        if (atomic_load(exclusive) == word && !shared_is_alive(shared, control_exclusive_owner(word)))
                lift(shared, word);
}

int exclusion_lock(struct participant *self)
{
        struct shared *shared = self->shared;
        struct watch watch = { 0 };
        for (;;) {
                int err = publish_lock(shared, self->owner);
                if (err)
                        return err;
                uint32_t word = atomic_load_explicit(&shared->control->exclusive, memory_order_relaxed);
                if (!word || word == self->exclusion)
                        return 0;
                publish_unlock(shared);
                wait_for(shared, word, &watch);
        }
}

int exclusion_begin(struct participant *self)
{
        struct control *control = self->shared->control;
        int err = exclusion_lock(self);
        if (err)
                return err;
        uint32_t turn = atomic_load_explicit(&control->exclusions, memory_order_relaxed) + 1;
        shlock_assert_held(&control->commit_lock);
        atomic_store_explicit(&control->exclusions, turn, memory_order_relaxed);
        self->exclusion = control_exclusive(turn, self->owner);
        atomic_store(&control->exclusive, self->exclusion);
        hook_step(HOOK_EXCLUSIVE);
        publish_unlock(self->shared);
        return 0;
}

void exclusion_end(struct participant *self)
{
        if (!self->exclusion)
                return;
        lift(self->shared, self->exclusion);
        self->exclusion = 0;
}

bool exclusion_holds(const struct participant *self)
{
        return self->exclusion && atomic_load(&self->shared->control->exclusive) == self->exclusion;
}

void exclusion_end_of_dead(struct shared *shared, uint32_t owner)
{
        uint32_t word = atomic_load(&shared->control->exclusive);
        if (word && control_exclusive_owner(word) == owner)
                lift(shared, word);
}
