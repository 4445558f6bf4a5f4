/* SPDX-License-Identifier: MIT */
#include "libxac/store/pool_aliases.h"

#include <errno.h>

#include "base/hook.h"
#include "base/sys.h"
#include "libxac/store/pool_lists.h"

enum { ALIAS_CHUNK = 256 };

void pool_push_alias_locked(struct shared *shared, uint32_t no)
{
        shlock_assert_held(&shared->control->pool_lock);
        slot_move(&shared->slots[no], WAS_FREE | WAS_PRIVATE | WAS_RETIRED, SLOT_FREE, 0);
        atomic_store_explicit(&shared->slots[no].next, shared->control->alias_free, memory_order_relaxed);
        shared->control->alias_free = no;
}

static int grow_aliases_locked(struct shared *shared)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        uint32_t first = atomic_load(&control->aliases_end);
        uint32_t most = shared->pool_slots + control_aliases_max(shared->pool_slots);
        uint32_t end = first + ALIAS_CHUNK < most ? first + ALIAS_CHUNK : most;
        if (first == end || sys_allocate(shared->control_fd, shared->layout.slots + first * sizeof(struct slot),
                                         (end - first) * sizeof(struct slot)))
                return -ENOSPC;
        atomic_store(&control->aliases_end, end);
        for (uint32_t no = end; no-- > first;)
                pool_push_alias_locked(shared, no);
        return 0;
}

/* The content before the state: whoever counts anew believes an alias that is not free. */
uint32_t pool_share_locked(struct shared *shared, uint32_t owner, uint32_t content)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct control *control = shared->control;
        if (!control->alias_free && grow_aliases_locked(shared))
                return 0;
        uint32_t no = control->alias_free;
        struct slot *slot = &shared->slots[no];
        control->alias_free = atomic_load_explicit(&slot->next, memory_order_relaxed);
        atomic_store_explicit(&slot->tag, 0, memory_order_relaxed); /* R3 */
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&slot->content, content, memory_order_relaxed);
        slot_move(slot, WAS_FREE, SLOT_PRIVATE, owner);
        hook_step(HOOK_ALIAS_TAKEN);
        if (content)
                atomic_fetch_add_explicit(&shared->slots[content].shares, 1, memory_order_release);
        return no;
}

void pool_settle_kept_locked(struct shared *shared, uint32_t no)
{
        shlock_assert_held(&shared->control->pool_lock);
        struct slot *slot = &shared->slots[no];
        if (atomic_load_explicit(&slot->shares, memory_order_relaxed) != SHARES_KEPT) {
                slot_move(slot, WAS_PRIVATE | WAS_RETIRED, SLOT_RETIRED, 0);
                return;
        }
        atomic_store_explicit(&slot->shares, 0, memory_order_relaxed);
        pool_push_free_locked(shared, no);
}

/* Free first: whoever counts anew does not count it any more. */
static void free_alias_locked(struct shared *shared, uint32_t no)
{
        shlock_assert_held(&shared->control->pool_lock);
        uint32_t content = shared_content(shared, no);
        pool_push_alias_locked(shared, no);
        hook_step(HOOK_ALIAS_FREE);
        if (!content)
                return;
        atomic_fetch_sub_explicit(&shared->slots[content].shares, 1, memory_order_release);
        if (slot_is_kept(&shared->slots[content]))
                pool_settle_kept_locked(shared, content);
}

void pool_free_locked(struct shared *shared, uint32_t slot)
{
        shlock_assert_held(&shared->control->pool_lock);
        if (shared_is_alias(shared, slot)) {
                free_alias_locked(shared, slot);
        } else if (pool_is_unshared(shared, slot)) {
                pool_push_free_locked(shared, slot);
        } else {
                atomic_fetch_or_explicit(&shared->slots[slot].shares, SHARES_KEPT, memory_order_release);
                hook_step(HOOK_SLOT_KEPT);
                pool_settle_kept_locked(shared, slot);
        }
}

/* Without a moment in which somebody might read too few: shares are read without the lock, too. */
void pool_recount_shares_locked(struct shared *shared)
{
        shlock_assert_held(&shared->control->pool_lock);
        uint32_t no;
        for (no = 0; (no = shared_next_slot(shared, no)) && !shared_is_alias(shared, no);)
                shared->slots[no].recount = 0;
        for (; no; no = shared_next_slot(shared, no))
                if (slot_state(&shared->slots[no]) != SLOT_FREE && shared_content(shared, no))
                        shared->slots[shared_content(shared, no)].recount++;
        for (no = 0; (no = shared_next_slot(shared, no)) && !shared_is_alias(shared, no);) {
                struct slot *slot = &shared->slots[no];
                uint32_t kept = slot_is_kept(slot) ? SHARES_KEPT : 0;
                if (atomic_load(&slot->shares) != (kept | slot->recount))
                        atomic_store(&slot->shares, kept | slot->recount);
        }
}
