/* SPDX-License-Identifier: MIT */
#include "libxac/store/pool_rebuild.h"

#include "libxac/store/pool_aliases.h"
#include "libxac/store/pool_lists.h"

/* A slot that belongs to no participant goes where its state says. */
static void sort_in_locked(struct shared *shared, uint32_t no)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct slot *slot = &shared->slots[no];
        if (slot_owner(slot) == SLOT_NOBODY)
                atomic_fetch_add(&shared->control->slots_awaited, 1);
        if (slot_owner(slot))
                return;
        if (slot_state(slot) == SLOT_FREE && shared_is_alias(shared, no))
                pool_push_alias_locked(shared, no);
        else if (slot_state(slot) == SLOT_FREE)
                pool_push_free_locked(shared, no);
        else if (slot_is_kept(slot))
                pool_settle_kept_locked(shared, no);
        else
                pool_hold_locked(shared, no, 0);
}

/* R7: what the descriptors say. */
void pool_rebuild_locked(struct shared *shared)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        control->free_first = 0;
        control->alias_free = 0;
        atomic_store(&control->free_count, 0);
        atomic_store(&control->held_count, 0);
        atomic_store(&control->slots_awaited, 0);
        control->awaited_from = 1;
        for (uint32_t i = 0; i < HELD_LISTS; i++)
                control->held[i] = (struct held_list){ 0 };
        pool_recount_shares_locked(shared);
        for (uint32_t no = atomic_load(&control->aliases_end); no-- > shared->pool_slots;)
                sort_in_locked(shared, no);
        for (uint32_t no = atomic_load(&control->slots_allocated); --no > 0;)
                sort_in_locked(shared, no);
}

/* R45: a page that the dead owner has published may be superseded by a living one meanwhile, whose slot it is from then
 * on. */
static void take_back_slot_locked(struct shared *shared, uint32_t no, uint32_t dead_owner)
{
        shlock_assert_held(&shared->control->pool_lock);
        const struct slot *slot = &shared->slots[no];
        const uint32_t use = atomic_load_explicit(&slot->use, memory_order_acquire);
        if (slot_use_owner(use) != dead_owner || slot_use_state(use) == SLOT_PUBLISHED)
                return;
        if (slot_is_kept(slot))
                pool_settle_kept_locked(shared, no);
        else if (slot_use_state(use) == SLOT_RETIRED)
                pool_hold_locked(shared, no, 0);
        else
                pool_free_locked(shared, no);
}

void pool_take_back_locked(struct shared *shared, uint32_t dead_owner)
{
        shlock_assert_held(&shared->control->pool_lock);
        for (uint32_t no = atomic_load(&shared->control->aliases_end); no-- > shared->pool_slots;)
                take_back_slot_locked(shared, no, dead_owner);
        for (uint32_t no = atomic_load(&shared->control->slots_allocated); --no > 0;)
                take_back_slot_locked(shared, no, dead_owner);
}
