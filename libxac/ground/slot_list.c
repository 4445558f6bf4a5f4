/* SPDX-License-Identifier: MIT */
#include "libxac/ground/slot_list.h"

#include "base/invariant.h"

void slot_list_push(struct shared *shared, struct slot_list *list, uint32_t slot)
{
        invariant(slot && slot != list->first);
        atomic_store_explicit(&shared->slots[slot].next, list->first, memory_order_relaxed);
        list->first = slot;
        list->count++;
}

uint32_t slot_list_pop(struct shared *shared, struct slot_list *list)
{
        uint32_t slot = list->first;
        invariant(!slot == !list->count);
        if (slot) {
                list->first = atomic_load_explicit(&shared->slots[slot].next, memory_order_relaxed);
                list->count--;
        }
        return slot;
}
