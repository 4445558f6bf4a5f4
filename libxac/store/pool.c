/* SPDX-License-Identifier: MIT */
#include "libxac/store/pool.h"

#include "base/hook.h"
#include "base/invariant.h"
#include "libxac/store/lending.h"
#include "libxac/store/pool_aliases.h"
#include "libxac/store/pool_lists.h"
#include "libxac/store/pool_memory.h"
#include "libxac/store/pool_rebuild.h"

enum { BATCH_MAX = 64 }; /* slots that move between cache and shared list at once */

uint32_t pool_batch(const struct shared *shared)
{
        uint32_t batch = shared->control->pool_slots / 64;
        return batch < 1 ? 1 : batch > BATCH_MAX ? BATCH_MAX : batch;
}

/* For pool_used(): a store to a line of its own row that nobody else writes. */
static inline void tell_cached(struct participant *self)
{
        atomic_store_explicit(&self->row->cached, self->free.count, memory_order_relaxed);
}

/* As those of a piece whose memory has not come yet: the next one who finds the pool at its ceiling tries again. */
static void put_aside(struct participant *self, uint32_t slot)
{
        struct shared *shared = self->shared;
        pool_lock(shared, self->owner);
        slot_move(&shared->slots[slot], WAS_FREE, SLOT_FREE, SLOT_NOBODY);
        pool_count_awaited_locked(shared, slot);
        pool_unlock(shared);
}

/* R28: nothing is written to what the kernel may still read. */
static inline uint32_t pop_writable(struct participant *self)
{
        uint32_t no = slot_list_pop(self->shared, &self->free);
        while (no && lending_is_lent(self->shared, no) && !lending_renew(self->shared, no)) {
                put_aside(self, no);
                no = slot_list_pop(self->shared, &self->free);
                tell_cached(self);
        }
        return no;
}

uint32_t pool_take(struct participant *self)
{
        uint32_t no = pop_writable(self);
        if (no) {
                tell_cached(self);
                struct slot *slot = &self->shared->slots[no];
                invariant(slot_owner(slot) == self->owner);
                slot_move(slot, WAS_FREE, SLOT_PRIVATE, self->owner);
                /* R3: the tag is gone before the content changes. */
                atomic_store_explicit(&slot->tag, 0, memory_order_relaxed);
                atomic_thread_fence(memory_order_release);
                hook_step(HOOK_SLOT_TAKEN);
        }
        return no;
}

/* From the shared list into the cache, or back; the caller holds the pool lock. New slots come out in
 * descending order: pages written one after the other, each by a fault, then do not become neighbours in
 * the pool, whose mappings the kernel would join and split again at every fault. Announced ranges
 * are taken from their end, and do become neighbours (touch.c). */
static void move_in_locked(struct participant *self, uint32_t count)
{
        shlock_assert_held(&self->shared->control->pool_lock);
        struct shared *shared = self->shared;
        for (; count && shared->control->free_first; count--)
                slot_list_push(shared, &self->free, pool_pop_free_locked(shared, self->owner));
        tell_cached(self);
}

static void move_out_locked(struct participant *self, uint32_t count)
{
        shlock_assert_held(&self->shared->control->pool_lock);
        while (count-- && self->free.first)
                pool_push_free_locked(self->shared, slot_list_pop(self->shared, &self->free));
        tell_cached(self);
}

static void give_back_shared(struct shared *shared, uint32_t owner, uint32_t slot)
{
        pool_lock(shared, owner);
        pool_free_locked(shared, slot);
        pool_unlock(shared);
}

static void cache(struct participant *self, uint32_t slot)
{
        slot_move(&self->shared->slots[slot], WAS_PRIVATE | WAS_RETIRED, SLOT_FREE, self->owner);
        slot_list_push(self->shared, &self->free, slot);
        tell_cached(self);
}

void pool_give_back_locked(struct participant *self, uint32_t slot)
{
        shlock_assert_held(&self->shared->control->pool_lock);
        if (pool_is_unshared(self->shared, slot) && self->free.count < pool_batch(self->shared))
                cache(self, slot);
        else
                pool_free_locked(self->shared, slot);
}

void pool_give_back(struct participant *self, uint32_t slot)
{
        if (!pool_is_unshared(self->shared, slot)) {
                give_back_shared(self->shared, self->owner, slot);
                return;
        }
        cache(self, slot);
        uint32_t batch = pool_batch(self->shared);
        if (self->free.count > 3 * batch) {
                pool_lock(self->shared, self->owner);
                move_out_locked(self, self->free.count - 2 * batch);
                pool_unlock(self->shared);
        }
}

bool pool_refill(struct participant *self)
{
        if (!atomic_load_explicit(&self->shared->control->free_count, memory_order_relaxed))
                return false;
        pool_lock(self->shared, self->owner);
        move_in_locked(self, pool_batch(self->shared));
        pool_unlock(self->shared);
        return self->free.first != 0;
}

void pool_flush(struct participant *self)
{
        if (!self->free.first)
                return;
        pool_lock(self->shared, self->owner);
        move_out_locked(self, self->free.count);
        pool_unlock(self->shared);
}

/* ---- The lock ---- */

void pool_lock(struct shared *shared, uint32_t owner)
{
        if (shlock_lock(&shared->control->pool_lock, owner, &shared->liveness) == SHLOCK_INHERITED)
                pool_rebuild_locked(shared);
        hook_step(HOOK_POOL_LOCKED);
}

void pool_unlock(struct shared *shared)
{
        shlock_unlock(&shared->control->pool_lock);
}

/* ---- Census ---- */

static void count_slot(const struct shared *shared, uint32_t no, struct pool_census *census)
{
        const struct slot *slot = &shared->slots[no];
        uint64_t *by_state[] = { &census->free, &census->private, &census->published, &census->retired };
        enum slot_state state = slot_state(slot);
        if ((shared_is_alias(shared, no) && state == SLOT_FREE) || pool_is_awaited(shared, no))
                return;
        census->allocated += !shared_is_alias(shared, no);
        census->aliases += shared_is_alias(shared, no);
        ++*(slot_is_kept(slot) ? &census->kept : by_state[state]);
}

void pool_count(struct shared *shared, struct pool_census *census)
{
        *census = (struct pool_census){ 0 };
        for (uint32_t no = 0; (no = shared_next_slot(shared, no));)
                count_slot(shared, no, census);
}

/* What is in the lists, by their lengths. */
static uint64_t count_free(const struct shared *shared)
{
        const struct control *control = shared->control;
        uint32_t rows_used = atomic_load(&control->rows_used);
        uint64_t count = 0;
        for (uint32_t i = 0; i < rows_used; i++)
                count += atomic_load_explicit(&shared->rows[i].cached, memory_order_relaxed);
        return count + atomic_load(&control->free_count);
}

/* What moves from one list to another meanwhile counts twice, or not at all. */
uint64_t pool_used(const struct shared *shared)
{
        const struct control *control = shared->control;
        uint64_t unused = count_free(shared) + atomic_load(&control->slots_awaited);
        uint64_t slots = atomic_load(&control->slots_allocated) - 1;
        return unused < slots ? slots - unused : 0;
}
