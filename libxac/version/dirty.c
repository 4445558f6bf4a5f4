/* SPDX-License-Identifier: MIT */
#include "libxac/version/dirty.h"

#include "base/heap_sort.h"

int dirty_add(struct dirty *dirty, uint32_t slot)
{
        int err = vector_reserve(&dirty->slots, dirty->slots.count + 1, sizeof(uint32_t));
        if (!err)
                ((uint32_t *)dirty->slots.items)[dirty->slots.count++] = slot;
        return err;
}

int dirty_collect(struct dirty *dirty, int (*is_wanted)(void *arg, uint32_t slot), void *arg)
{
        for (uint32_t no = 0; (no = shared_next_slot(dirty->shared, no));) {
                int wanted = is_wanted(arg, no);
                if (wanted < 0)
                        return wanted;
                int err = wanted ? dirty_add(dirty, no) : 0;
                if (err)
                        return err;
        }
        return 0;
}

static bool is_before(const void *arg, uint32_t a, uint32_t b)
{
        const struct slot *slots = arg;
        return atomic_load_explicit(&slots[a].page, memory_order_relaxed) <
               atomic_load_explicit(&slots[b].page, memory_order_relaxed);
}

void dirty_sort(struct dirty *dirty)
{
        heap_sort(dirty->slots.items, dirty->slots.count, is_before, dirty->shared->slots);
}

void dirty_free(struct dirty *dirty)
{
        vector_free(&dirty->slots, sizeof(uint32_t));
}
