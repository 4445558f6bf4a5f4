/* SPDX-License-Identifier: MIT */
#include "libxac/store/reclaim.h"

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/store/pool.h"
#include "libxac/store/pool_aliases.h"
#include "libxac/store/pool_lists.h"
#include "libxac/store/pool_memory.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"

enum {
        RETIRED_BATCH_MIN = 4,  /* looked at together: few, so that their content is still in the cache, */
        RETIRED_BATCH_MAX = 16, /* but more when there are many rows to read */
        WAITING_MAX = 64,       /* kept by the participant; more move to the shared lists */
        SHARED_BATCH = 4096,    /* of a shared list at once, as the pool lock is held meanwhile */
        UNASKED_NS = 200000000  /* slots that nobody asks for so long are given back */
};

/* At which shared lists, and how much of them. */
enum look {
        FOR_A_BATCH, /* those whose snapshot has ended, until the cache has some */
        AT_ENDED,    /* those */
        AT_ALL
};

enum verdict {
        GIVE_BACK, /* nobody walks past its successor any more */
        UNLINK,    /* an older snapshot may still walk through it: unlink first */
        WAIT       /* an active snapshot sees it */
};

static enum verdict judge(struct shared *shared, const struct snapshots *seen, uint32_t no)
{
        struct slot *slot = &shared->slots[no];
        uint64_t from = atomic_load_explicit(&slot->tag, memory_order_relaxed);
        uint64_t to = atomic_load_explicit(&slot->superseded, memory_order_relaxed);
        uint64_t epoch = atomic_load_explicit(&slot->home_epoch, memory_order_relaxed);
        if (hook_has_bug(HOOK_BUG_SLOT_REUSED_EARLY))
                return GIVE_BACK;
        if (epoch)
                return snapshots_need_displaced(seen, from, epoch) ? WAIT : GIVE_BACK;
        if (to <= seen->oldest)
                return GIVE_BACK;
        /* R1: only what was superseded before the rows were read. */
        if (to > seen->ceiling || snapshots_find_in(seen, from, to))
                return WAIT;
        __builtin_prefetch(&shared->slots[atomic_load_explicit(&slot->newer, memory_order_relaxed)], 1);
        return UNLINK; /* from that one, under the lock */
}

/* The oldest snapshot that is in the way of a slot that must wait. */
static uint64_t waits_for(struct shared *shared, const struct snapshots *seen, uint32_t no)
{
        struct slot *slot = &shared->slots[no];
        uint64_t from = atomic_load_explicit(&slot->tag, memory_order_relaxed);
        uint64_t to = atomic_load_explicit(&slot->superseded, memory_order_relaxed);
        if (atomic_load_explicit(&slot->home_epoch, memory_order_relaxed))
                to = UINT64_MAX;
        return snapshots_find_in(seen, from, to);
}

/* Takes the listed slots out of their chains. False: none was, they must wait. */
static bool unlink_all(struct participant *self, const struct slot_list *list)
{
        invariant(list->first);
        struct shared *shared = self->shared;
        if (publish_lock(shared, self->owner))
                return false;
        int err = 0;
        for (uint32_t no = list->first; no && !err; no = atomic_load(&shared->slots[no].next))
                err = version_unlink_locked(shared, no);
        publish_unlock(shared);
        return !err;
}

/* Sorts a list by verdict; what can go at once goes. */
static void sort_retired(struct participant *self, struct slot_list *unlink, struct slot_list *wait)
{
        struct slot_list retired = self->retired;
        self->retired = (struct slot_list){ 0 };
        for (uint32_t no; (no = slot_list_pop(self->shared, &retired));) {
                enum verdict verdict = judge(self->shared, self->seen, no);
                if (verdict == GIVE_BACK)
                        pool_give_back(self, no);
                else
                        slot_list_push(self->shared, verdict == UNLINK ? unlink : wait, no);
        }
}

static void hold_all(struct participant *self, struct slot_list *list)
{
        pool_lock(self->shared, self->owner);
        for (uint32_t no; (no = slot_list_pop(self->shared, list));)
                pool_hold_locked(self->shared, no, waits_for(self->shared, self->seen, no));
        pool_unlock(self->shared);
}

/* True: some had to be unlinked, under the commit lock. */
static bool reclaim_retired(struct participant *self)
{
        struct slot_list unlink = { 0 };
        struct slot_list wait = { 0 };
        self->looks++;
        snapshots_read(self->seen, self->shared);
        sort_retired(self, &unlink, &wait);
        bool is_unlinking = unlink.first != 0;
        if (is_unlinking) {
                struct slot_list *to = unlink_all(self, &unlink) ? NULL : &wait;
                for (uint32_t no; (no = slot_list_pop(self->shared, &unlink));) {
                        if (to)
                                slot_list_push(self->shared, to, no);
                        else
                                pool_give_back(self, no);
                }
        }
        if (wait.count > WAITING_MAX)
                hold_all(self, &wait);
        self->retired = wait;
        return is_unlinking;
}

static uint32_t batch_size(const struct shared *shared)
{
        uint32_t rows = atomic_load_explicit(&shared->control->rows_used, memory_order_relaxed);
        uint32_t size = 2 * rows;
        return size < RETIRED_BATCH_MIN ? RETIRED_BATCH_MIN : size > RETIRED_BATCH_MAX ? RETIRED_BATCH_MAX : size;
}

/* What waits already is looked at again only with a batch of new ones. */
void reclaim_after_commit(struct participant *self)
{
        if (self->retired.count < self->retired_limit)
                return;
        bool is_unlinking = reclaim_retired(self); /* then more at a time are worth the lock */
        uint32_t batch = is_unlinking ? RETIRED_BATCH_MAX : batch_size(self->shared);
        self->retired_limit = self->retired.count + batch;
}

/* Is the snapshot that the list waits for gone? */
static bool is_ripe(const struct snapshots *seen, const struct held_list *list)
{
        return !list->snapshot || !snapshots_find_in(seen, list->snapshot, list->snapshot + 1);
}

/* Judges up to `most` slots of one shared list. */
static void reclaim_held_locked(struct participant *self, struct held_list *list, uint32_t most)
{
        shlock_assert_held(&self->shared->control->pool_lock);
        struct shared *shared = self->shared;
        struct slot_list unlink = { 0 };
        struct slot_list wait = { 0 };
        for (uint32_t no; most-- && (no = pool_unhold_locked(shared, list));) {
                enum verdict verdict = judge(shared, self->seen, no);
                if (verdict == GIVE_BACK)
                        pool_give_back_locked(self, no);
                else
                        slot_list_push(shared, verdict == UNLINK ? &unlink : &wait, no);
        }
        bool is_unlinked = unlink.first && unlink_all(self, &unlink);
        for (uint32_t no; (no = slot_list_pop(shared, &unlink));) {
                if (is_unlinked)
                        pool_give_back_locked(self, no);
                else
                        pool_hold_locked(shared, no, 0);
        }
        for (uint32_t no; (no = slot_list_pop(shared, &wait));)
                pool_hold_locked(shared, no, waits_for(shared, self->seen, no));
}

static void reclaim_shared(struct participant *self, enum look look)
{
        struct control *control = self->shared->control;
        const uint32_t most = look == FOR_A_BATCH ? pool_batch(self->shared) : SHARED_BATCH;
        if (!atomic_load_explicit(&control->held_count, memory_order_relaxed))
                return;
        atomic_store_explicit(&control->held_asked_ns, sys_monotonic_ns(), memory_order_relaxed);
        pool_lock(self->shared, self->owner);
        snapshots_read(self->seen, self->shared);
        for (uint32_t i = 0; i < HELD_LISTS && !(look == FOR_A_BATCH && self->free.first); i++)
                if (control->held[i].count && (look == AT_ALL || is_ripe(self->seen, &control->held[i])))
                        reclaim_held_locked(self, &control->held[i], most);
        pool_unlock(self->shared);
}

/* From what is superseded, then from what some snapshot needed that has ended, then from the shared list, then new
 * memory, then a closer look. Somebody in the background is asked for more before the list is empty. */
static bool find_slots(struct participant *self)
{
        if (self->retired.count)
                reclaim_retired(self);
        if (pool_wants_growth(self->shared))
                shared_call_for_duty(self->shared);
        if (!self->free.first)
                reclaim_shared(self, FOR_A_BATCH);
        if (self->free.first || pool_refill(self))
                return true;
        while (!pool_grow(self)) /* again if others were faster to take the new ones */
                if (pool_refill(self))
                        return true;
        reclaim_shared(self, AT_ALL);
        return self->free.first || pool_refill(self);
}

uint32_t reclaim_take(struct participant *self)
{
        uint32_t slot = pool_take(self);
        if (!slot && find_slots(self))
                slot = pool_take(self);
        return slot;
}

int reclaim_ahead(struct participant *self)
{
        reclaim_shared(self, AT_ENDED);
        return pool_wants_growth(self->shared) ? pool_grow(self) : 0;
}

bool reclaim_has_unasked(const struct shared *shared)
{
        const struct control *control = shared->control;
        return atomic_load_explicit(&control->held_count, memory_order_relaxed) &&
               sys_monotonic_ns() - atomic_load_explicit(&control->held_asked_ns, memory_order_relaxed) >= UNASKED_NS;
}

void reclaim_ended(struct participant *self)
{
        const _Atomic uint32_t *held = &self->shared->control->held_count;
        for (uint32_t before = UINT32_MAX, now; (now = atomic_load(held)) < before; before = now)
                reclaim_shared(self, AT_ENDED); /* a batch of each list */
}

void reclaim_hand_over(struct participant *self)
{
        snapshots_read(self->seen, self->shared);
        hold_all(self, &self->retired);
        self->retired_limit = RETIRED_BATCH_MIN;
}

void reclaim_everything(struct participant *self)
{
        reclaim_retired(self);
        reclaim_hand_over(self);
        const _Atomic uint32_t *held = &self->shared->control->held_count;
        for (uint32_t before = UINT32_MAX, now; (now = atomic_load(held)) < before; before = now)
                reclaim_shared(self, AT_ALL); /* a batch of each list */
}
