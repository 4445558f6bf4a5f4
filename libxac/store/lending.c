/* SPDX-License-Identifier: MIT */
#include "libxac/store/lending.h"

#include <errno.h>

#include "base/hook.h"
#include "base/sys.h"

enum { NO_SLOT = 0 }; /* which is the page of zeros: nobody takes it */

/* What aliases show is in the slot of their content, and that is where they point. */
static int find_slot(const struct shared *shared, const void *bytes, uint32_t *slot)
{
        const uint64_t offset = (uint64_t)(uintptr_t)bytes - (uint64_t)(uintptr_t)shared->pool;
        if (offset >> shared->page_shift >= shared->pool_slots)
                return -EINVAL;
        *slot = (uint32_t)(offset >> shared->page_shift);
        return 0;
}

/* The counts have no memory before there is something to count; to allocate it twice does no harm. */
static int prepare(struct shared *shared)
{
        struct control *control = shared->control;
        if (atomic_load_explicit(&control->has_lent, memory_order_acquire))
                return 0;
        int err = sys_allocate(shared->control_fd, shared->layout.lent, shared->pool_slots * sizeof(uint32_t));
        if (!err)
                atomic_store(&control->has_lent, 1);
        return err;
}

int lending_lend(struct shared *shared, const void *bytes)
{
        uint32_t slot;
        int err = find_slot(shared, bytes, &slot);
        if (!err && slot != NO_SLOT)
                err = prepare(shared);
        if (!err && slot != NO_SLOT)
                atomic_fetch_add(&lending_counts(shared)[slot], 1);
        return err;
}

void lending_take_back(struct shared *shared, const void *bytes)
{
        uint32_t slot;
        if (!find_slot(shared, bytes, &slot) && slot != NO_SLOT)
                atomic_fetch_sub(&lending_counts(shared)[slot], 1);
}

/* What nobody reads any more but the kernel goes from the file, and only the kernel has it then. Memory is allocated at
 * once, as a page fault for it could find none. */
bool lending_renew(struct shared *shared, uint32_t slot)
{
        const uint64_t offset = (uint64_t)slot << shared->page_shift;
        int err = sys_punch_hole(shared->pool_fd, offset, shared->control->page_bytes);
        hook_step(HOOK_SLOT_PUNCHED);
        if (!err)
                err = sys_allocate(shared->pool_fd, offset, shared->control->page_bytes);
        if (err)
                return false;
        atomic_store(&lending_counts(shared)[slot], 0);
        return true;
}
