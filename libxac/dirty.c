/* SPDX-License-Identifier: MIT */
#include "libxac/dirty.h"

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

/* Heap sort: in place and without malloc. */
static void sift_down(struct dirty *dirty, uint32_t root, uint32_t count)
{
        uint32_t *slots = dirty->slots.items;
        for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
                if (child + 1 < count && dirty_page(dirty, child + 1) > dirty_page(dirty, child))
                        child++;
                if (dirty_page(dirty, child) <= dirty_page(dirty, root))
                        return;
                uint32_t swap = slots[root];
                slots[root] = slots[child];
                slots[child] = swap;
        }
}

void dirty_sort(struct dirty *dirty)
{
        uint32_t *slots = dirty->slots.items;
        uint32_t count = dirty->slots.count;
        for (uint32_t i = count / 2; i-- > 0;)
                sift_down(dirty, i, count);
        for (uint32_t end = count; end-- > 1;) {
                uint32_t swap = slots[0];
                slots[0] = slots[end];
                slots[end] = swap;
                sift_down(dirty, 0, end);
        }
}

void dirty_free(struct dirty *dirty)
{
        vector_free(&dirty->slots, sizeof(uint32_t));
}
