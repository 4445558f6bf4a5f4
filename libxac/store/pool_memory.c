/* SPDX-License-Identifier: MIT */
#include "libxac/store/pool_memory.h"

#include <errno.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/store/pool.h"
#include "libxac/store/pool_lists.h"
#include "rewire/memory.h"

enum {
        PIECE_SLOTS = 256,  /* memory is allocated in pieces of as many slots */
        AHEAD_FROM = 1024,  /* from so many on the pool grows before it must: */
        AHEAD_PART = 4,     /* so much of it is to be free, */
        AHEAD_SLOTS = 1024, /* but no more than that */
        SHRINK_SLOTS = 64,  /* give their memory back under one hold of the lock */
        SHRINK_LEAVES = 8   /* so much of the ceiling stays free for writers meanwhile */
};

static const uint64_t HELD_NS = UINT64_C(2000000000);

/* ---- Pieces ---- */

/* The pool grows by pieces of so many slots. Whoever lets it grow claims a piece under the lock: its descriptors have
 * memory from then on, and say that it is nobody's. The piece gets its own memory without the lock, while others use
 * what is there, and let other pieces grow; then its slots enter the list. Memory that was never touched costs more
 * than all else that an insert does (2 us a page here). */
struct piece {
        uint32_t first, end;
        uint32_t shrinks; /* how often the pool had shrunk when it was claimed */
};

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
        *piece = (struct piece){ first, end, shared->control->shrinks };
        return 0;
}

/* What somebody else prepares, or died over, or what has given its memory back; and all between. That memory is
 * allocated twice does no harm. */
static int claim_again_locked(struct shared *shared, struct piece *piece)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        const uint32_t allocated = atomic_load(&control->slots_allocated);
        uint32_t first = control->awaited_from;
        if (!atomic_load(&control->slots_awaited))
                return -ENOSPC;
        while (first < allocated && !pool_is_awaited(shared, first))
                first++;
        control->awaited_from = first;
        const uint32_t left = allocated - first;
        *piece = (struct piece){ first, first + (left < PIECE_SLOTS ? left : PIECE_SLOTS), control->shrinks };
        return left ? 0 : -ENOSPC;
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
                if (!pool_is_awaited(shared, no))
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
        while (end > piece->first && pool_is_awaited(shared, end - 1))
                end--;
        atomic_store(&control->slots_allocated, end);
        atomic_fetch_sub(&control->slots_awaited, piece->end - end);
}

static void attach(struct memory *memory, const struct shared *shared)
{
        memory_attach(memory, shared->pool_fd, shared->pool, (uint64_t)shared->pool_slots << shared->page_shift,
                      shared->page_shift);
}

/* The slots will be written in a moment: so they are touched. */
static int prepare(struct shared *shared, const struct piece *piece)
{
        struct memory memory;
        attach(&memory, shared);
        int err = memory_prepare(&memory, piece->first, piece->end - piece->first);
        if (!err)
                memory_touch(&memory, piece->first, piece->end - piece->first);
        hook_step(HOOK_POOL_PREPARED);
        return err;
}

/* R46: what has given its memory back since the piece was claimed may be one of its slots. False: it is to be prepared
 * again. */
static bool enter(struct participant *self, struct piece *piece)
{
        struct shared *shared = self->shared;
        pool_lock(shared, self->owner);
        const bool is_right = piece->shrinks == shared->control->shrinks;
        if (is_right)
                enter_locked(shared, piece);
        piece->shrinks = shared->control->shrinks;
        pool_unlock(shared);
        return is_right;
}

static void disclaim(struct participant *self, const struct piece *piece)
{
        pool_lock(self->shared, self->owner);
        disclaim_locked(self->shared, piece);
        pool_unlock(self->shared);
}

/* ---- The ceiling ---- */

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

static void hold_ceiling(struct shared *shared, uint64_t slots)
{
        struct control *control = shared->control;
        const uint64_t least = POOL_SLOTS_MIN < shared->pool_slots ? POOL_SLOTS_MIN : shared->pool_slots;
        atomic_store(&control->ceiling_ns, sys_monotonic_ns());
        atomic_store(&control->ceiling, (uint32_t)(slots < least ? least : slots));
}

/* R44: the pool does not grow beyond its ceiling. Where this process's control group has no room for a piece, the
 * process stores what the pool has as the ceiling, for all who share it. */
static bool is_allowed(struct shared *shared)
{
        const uint32_t had = slots_had(shared);
        if (had >= atomic_load(&shared->control->ceiling) && had < shared->pool_slots)
                return false;
        if (allowance_take(&shared->allowance, (uint64_t)PIECE_SLOTS << shared->page_shift))
                return true;
        hold_ceiling(shared, had);
        return false;
}

/* R46: of all who share the pool, the least that a group allows counts; and what a group lacks, the pool has too much.
 */
bool pool_heed_group(struct shared *shared)
{
        const struct control *control = shared->control;
        struct allowance_view view;
        allowance_look(&shared->allowance, &view);
        const uint64_t had = slots_had(shared);
        const uint64_t lacks = view.lacks >> shared->page_shift, most = view.most >> shared->page_shift;
        const uint64_t wanted = had > lacks ? had - lacks : 0;
        if (lacks && wanted < most)
                hold_ceiling(shared, wanted);
        else if (most <= atomic_load(&control->ceiling) && most < shared->pool_slots)
                hold_ceiling(shared, most);
        return view.is_short;
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

/* ---- Growing, shrinking ---- */

int pool_grow(struct participant *self)
{
        struct shared *shared = self->shared;
        struct piece piece;
        if (!is_allowed(shared) || !is_memory_left(shared))
                return -ENOSPC;
        int err = claim_piece(self, &piece);
        if (err)
                return err;
        do
                err = prepare(shared, &piece);
        while (!err && !enter(self, &piece));
        if (err)
                disclaim(self, &piece);
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

bool pool_is_too_large(const struct shared *shared)
{
        return slots_had(shared) > atomic_load_explicit(&shared->control->ceiling, memory_order_relaxed);
}

/* How many of the free slots are to go at once. */
static uint32_t surplus_locked(const struct shared *shared)
{
        shlock_assert_held(&shared->control->pool_lock);
        const struct control *control = shared->control;
        const uint32_t ceiling = atomic_load(&control->ceiling);
        const uint32_t had = slots_had(shared), free = atomic_load(&control->free_count);
        const uint32_t excess = had > ceiling ? had - ceiling : 0;
        const uint32_t spare = free > ceiling / SHRINK_LEAVES ? free - ceiling / SHRINK_LEAVES : 0;
        const uint32_t surplus = excess < spare ? excess : spare;
        return surplus < SHRINK_SLOTS ? surplus : SHRINK_SLOTS;
}

/* R46: the descriptor first, so that the heir of the lock finds no free slot that has no memory. The lock is held: or
 * somebody could claim the slot, and write to it, before its memory goes. */
static void give_up_locked(struct shared *shared, const struct memory *memory)
{
        shlock_assert_held(&shared->control->pool_lock);
        const uint32_t no = pool_pop_free_locked(shared, SLOT_NOBODY);
        pool_count_awaited_locked(shared, no);
        hook_step(HOOK_POOL_GIVEN_UP);
        (void)memory_release(memory, no, 1); /* if not, it has memory, and nobody knows */
}

void pool_shrink(struct participant *self)
{
        struct shared *shared = self->shared;
        struct memory memory;
        attach(&memory, shared);
        for (uint32_t surplus = 1; surplus;) {
                pool_lock(shared, self->owner);
                surplus = surplus_locked(shared);
                shared->control->shrinks += surplus != 0;
                for (uint32_t i = 0; i < surplus; i++)
                        give_up_locked(shared, &memory);
                pool_unlock(shared);
        }
}

/* ---- Room ---- */

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
