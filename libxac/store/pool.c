/* SPDX-License-Identifier: MIT */
#include "libxac/store/pool.h"

#include <errno.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/store/lending.h"
#include "libxac/store/pool_aliases.h"
#include "libxac/store/pool_lists.h"
#include "libxac/store/pool_rebuild.h"
#include "rewire/memory.h"

enum {
        PIECE_SLOTS = 256, /* memory is allocated in pieces of as many slots */
        BATCH_MAX = 64,    /* slots that move between cache and shared list at once */
        AHEAD_FROM = 1024, /* from so many on the pool grows before it must: */
        AHEAD_PART = 4,    /* so much of it is to be free, */
        AHEAD_SLOTS = 1024 /* but no more than that */
};

static const uint64_t HELD_NS = UINT64_C(2000000000);

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
        atomic_fetch_add(&shared->control->slots_awaited, 1);
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
        struct control *control = shared->control;
        for (; count && control->free_first; count--) {
                uint32_t no = control->free_first;
                struct slot *slot = &shared->slots[no];
                invariant(slot_owner(slot) == 0);
                slot_move(slot, WAS_FREE, SLOT_FREE, self->owner);
                control->free_first = atomic_load_explicit(&slot->next, memory_order_relaxed);
                atomic_fetch_sub_explicit(&control->free_count, 1, memory_order_relaxed);
                slot_list_push(shared, &self->free, no);
        }
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

/* ---- Growth ---- */

/* The pool grows by pieces of so many slots. Whoever lets it grow claims a piece under the lock: its descriptors have
 * memory from then on, and say that it is nobody's. The piece gets its own memory without the lock, while others use
 * what is there, and let other pieces grow; then its slots enter the list. Memory that was never touched costs more
 * than all else that an insert does (2 us a page here). */
struct piece {
        uint32_t first, end;
};

static bool is_awaited(const struct shared *shared, uint32_t no)
{
        return slot_owner(&shared->slots[no]) == SLOT_NOBODY;
}

static int claim_new_locked(struct shared *shared, uint32_t first, struct piece *piece)
{
        shlock_assert_held(&shared->control->pool_lock);
        uint32_t left = shared->pool_slots - first;
        uint32_t end = first + (left < PIECE_SLOTS ? left : PIECE_SLOTS);
        if (sys_allocate(shared->control_fd, shared->layout.slots + first * sizeof(struct slot),
                         (end - first) * sizeof(struct slot)))
                return -ENOSPC;
        for (uint32_t no = first; no < end; no++)
                slot_move(&shared->slots[no], WAS_FREE, SLOT_FREE, SLOT_NOBODY);
        atomic_store(&shared->control->slots_allocated, end);
        hook_step(HOOK_POOL_CLAIMED);
        atomic_fetch_add(&shared->control->slots_awaited, end - first);
        *piece = (struct piece){ first, end };
        return 0;
}

/* At the ceiling: what somebody else prepares, or died over. That memory is allocated twice does no harm. */
static int claim_again_locked(const struct shared *shared, struct piece *piece)
{
        shlock_assert_held(&shared->control->pool_lock);
        uint32_t first = 1;
        if (!atomic_load(&shared->control->slots_awaited))
                return -ENOSPC;
        while (first < shared->pool_slots && !is_awaited(shared, first))
                first++;
        *piece = (struct piece){ first, first };
        while (piece->end < shared->pool_slots && piece->end < first + PIECE_SLOTS && is_awaited(shared, piece->end))
                piece->end++;
        return first < piece->end ? 0 : -ENOSPC;
}

static int claim_piece(struct participant *self, struct piece *piece)
{
        struct shared *shared = self->shared;
        const bool is_locked = !hook_has_bug(HOOK_BUG_POOL_UNLOCKED);
        if (is_locked)
                pool_lock(shared, self->owner);
        uint32_t first = atomic_load(&shared->control->slots_allocated);
        int err =
                first < shared->pool_slots ? claim_new_locked(shared, first, piece) : claim_again_locked(shared, piece);
        if (is_locked)
                pool_unlock(shared);
        return err;
}

/* Somebody may have been here before, or the piece is not claimed any more. */
static void enter_locked(struct shared *shared, const struct piece *piece)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        uint32_t allocated = atomic_load(&control->slots_allocated);
        for (uint32_t no = piece->end < allocated ? piece->end : allocated; no-- > piece->first;) {
                if (!is_awaited(shared, no))
                        continue;
                pool_push_free_locked(shared, no);
                atomic_fetch_sub(&control->slots_awaited, 1);
        }
}

/* A piece without memory is not claimed any more, if it is the last: another stays for who comes to the ceiling. */
static void disclaim_locked(struct shared *shared, const struct piece *piece)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        uint32_t end = piece->end;
        if (atomic_load(&control->slots_allocated) != end)
                return;
        while (end > piece->first && is_awaited(shared, end - 1))
                end--;
        atomic_store(&control->slots_allocated, end);
        atomic_fetch_sub(&control->slots_awaited, piece->end - end);
}

/* The slots will be written in a moment: so they are touched. */
static int prepare(struct shared *shared, const struct piece *piece)
{
        struct memory memory;
        memory_attach(&memory, shared->pool_fd, shared->pool, (uint64_t)shared->pool_slots << shared->page_shift,
                      shared->page_shift);
        int err = memory_prepare(&memory, piece->first, piece->end - piece->first);
        if (!err)
                memory_touch(&memory, piece->first, piece->end - piece->first);
        return err;
}

/* To find out by allocating takes a millisecond, as the kernel first takes all that is left and then gives it back; and
 * a transaction that has come to this asks again at each further page. */
static bool is_memory_left(const struct shared *shared)
{
        uint64_t slots = shared->pool_slots < PIECE_SLOTS ? shared->pool_slots : PIECE_SLOTS;
        uint64_t all, unused;
        return sys_space(SHARED_DIRECTORY, &all, &unused) || !all || unused >= slots << shared->page_shift;
}

/* Slots that have memory. */
static uint32_t slots_had(const struct shared *shared)
{
        const struct control *control = shared->control;
        return atomic_load_explicit(&control->slots_allocated, memory_order_relaxed) -
               atomic_load_explicit(&control->slots_awaited, memory_order_relaxed);
}

/* R44: the pool does not grow beyond its ceiling. Where this process's control group has no room for a piece, the
 * process stores what the pool has as the ceiling, for all who share it. */
static bool is_allowed(struct shared *shared)
{
        struct control *control = shared->control;
        const uint32_t had = slots_had(shared);
        if (had >= atomic_load(&control->ceiling) && had < shared->pool_slots)
                return false;
        if (allowance_take(&shared->allowance, (uint64_t)PIECE_SLOTS << shared->page_shift))
                return true;
        atomic_store(&control->ceiling_ns, sys_monotonic_ns());
        atomic_store(&control->ceiling, had < POOL_SLOTS_MIN ? POOL_SLOTS_MIN : had);
        return false;
}

bool pool_may_rise(const struct shared *shared)
{
        const struct control *control = shared->control;
        return atomic_load_explicit(&control->ceiling, memory_order_relaxed) < shared->pool_slots &&
               sys_monotonic_ns() - atomic_load_explicit(&control->ceiling_ns, memory_order_relaxed) >= HELD_NS;
}

void pool_let_rise(struct shared *shared)
{
        atomic_store(&shared->control->ceiling, shared->pool_slots);
}

int pool_grow(struct participant *self)
{
        struct shared *shared = self->shared;
        struct piece piece;
        if (!is_allowed(shared) || !is_memory_left(shared))
                return -ENOSPC;
        int err = claim_piece(self, &piece);
        if (err)
                return err;
        err = prepare(shared, &piece);
        hook_step(HOOK_POOL_PREPARED);
        pool_lock(shared, self->owner);
        if (!err)
                enter_locked(shared, &piece);
        else
                disclaim_locked(shared, &piece);
        pool_unlock(shared);
        return err ? -ENOSPC : 0;
}

bool pool_wants_growth(const struct shared *shared)
{
        const struct control *control = shared->control;
        uint32_t allocated = atomic_load_explicit(&control->slots_allocated, memory_order_relaxed);
        uint32_t wanted = allocated / AHEAD_PART < AHEAD_SLOTS ? allocated / AHEAD_PART : AHEAD_SLOTS;
        return allocated >= AHEAD_FROM && allocated < atomic_load_explicit(&control->ceiling, memory_order_relaxed) &&
               atomic_load_explicit(&control->free_count, memory_order_relaxed) < wanted;
}

/* Slots that the shared list has or could have. */
static uint32_t room(const struct shared *shared)
{
        const struct control *control = shared->control;
        const uint32_t had = slots_had(shared);
        const uint32_t ceiling = atomic_load_explicit(&control->ceiling, memory_order_relaxed);
        return (had < ceiling ? ceiling - had : 0) + atomic_load_explicit(&control->free_count, memory_order_relaxed);
}

bool pool_is_nearly_full(const struct shared *shared)
{
        return room(shared) < atomic_load_explicit(&shared->control->room_wanted, memory_order_relaxed);
}

bool pool_is_exhausted(const struct shared *shared)
{
        return room(shared) < atomic_load_explicit(&shared->control->room_wanted, memory_order_relaxed) / 4;
}

void pool_set_room_wanted(struct shared *shared)
{
        uint32_t half = atomic_load(&shared->control->ceiling) / 2;
        uint32_t possible = room(shared) / 4 * 3;
        atomic_store(&shared->control->room_wanted, possible < half ? possible : half);
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
        if ((shared_is_alias(shared, no) && state == SLOT_FREE) || is_awaited(shared, no))
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

uint64_t pool_room(const struct shared *shared)
{
        const struct control *control = shared->control;
        const uint64_t most = shared->pool_slots - 1;
        const uint64_t have = atomic_load(&control->slots_allocated) - 1 - atomic_load(&control->slots_awaited);
        uint64_t more = allowance_now(&shared->allowance), all, unused;
        if (!sys_space(SHARED_DIRECTORY, &all, &unused) && all && unused < more)
                more = unused;
        more >>= shared->page_shift;
        const uint64_t ceiling = atomic_load(&control->ceiling);
        const uint64_t room = have >= ceiling || more < PIECE_SLOTS ? have : have + more;
        return room < most ? room : most;
}
