/* SPDX-License-Identifier: MIT */
#include "libxac/store/pool_lists.h"

#include "base/hook.h"
#include "base/invariant.h"

void pool_push_free_locked(struct shared *shared, uint32_t slot)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        slot_move(&shared->slots[slot], WAS_FREE | WAS_PRIVATE | WAS_RETIRED, SLOT_FREE, 0);
        atomic_store_explicit(&shared->slots[slot].next, control->free_first, memory_order_relaxed);
        control->free_first = slot;
        hook_step(HOOK_POOL_PUSHED);
        atomic_fetch_add_explicit(&control->free_count, 1, memory_order_relaxed);
}

uint32_t pool_pop_free_locked(struct shared *shared, uint32_t owner)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        const uint32_t no = control->free_first;
        struct slot *slot = &shared->slots[no];
        invariant(no && slot_owner(slot) == 0);
        slot_move(slot, WAS_FREE, SLOT_FREE, owner);
        control->free_first = atomic_load_explicit(&slot->next, memory_order_relaxed);
        atomic_fetch_sub_explicit(&control->free_count, 1, memory_order_relaxed);
        return no;
}

void pool_count_awaited_locked(struct shared *shared, uint32_t slot)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        invariant(slot_owner(&shared->slots[slot]) == SLOT_NOBODY);
        atomic_fetch_add(&control->slots_awaited, 1);
        if (slot < control->awaited_from)
                control->awaited_from = slot;
}

/* The list of that snapshot, else an empty one, else any: a wrong one only means a later look. */
static struct held_list *held_list_for(struct control *control, uint64_t snapshot)
{
        struct held_list *empty = NULL;
        for (uint32_t i = 0; i < HELD_LISTS; i++) {
                struct held_list *list = &control->held[i];
                if (list->count && list->snapshot == snapshot)
                        return list;
                if (!list->count)
                        empty = list;
        }
        if (!empty)
                return &control->held[snapshot % HELD_LISTS];
        empty->snapshot = snapshot;
        empty->first = 0;
        return empty;
}

void pool_hold_locked(struct shared *shared, uint32_t slot, uint64_t snapshot)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct held_list *list = held_list_for(shared->control, snapshot);
        uint32_t *pushed = &list->pushed[list->count % HELD_AHEAD];
        slot_move(&shared->slots[slot], WAS_PUBLISHED | WAS_RETIRED, SLOT_RETIRED, 0);
        atomic_store_explicit(&shared->slots[slot].next, list->first, memory_order_relaxed);
        shared->slots[slot].ahead = *pushed;
        *pushed = slot;
        list->first = slot;
        list->count++;
        atomic_fetch_add_explicit(&shared->control->held_count, 1, memory_order_relaxed);
}

uint32_t pool_unhold_locked(struct shared *shared, struct held_list *list)
{
        shlock_assert_held(&shared->control->pool_lock);
        uint32_t no = list->first;
        if (!no)
                return 0;
        struct slot *slot = &shared->slots[no];
        invariant(list->count);
        invariant(slot_state(slot) == SLOT_RETIRED && slot_owner(slot) == 0);
        __builtin_prefetch(&shared->slots[slot->ahead], 1);
        list->first = atomic_load_explicit(&slot->next, memory_order_relaxed);
        list->count--;
        atomic_fetch_sub_explicit(&shared->control->held_count, 1, memory_order_relaxed);
        return no;
}
