/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_LENDING_H
#define LIBXAC_STORE_LENDING_H

/*
 * Slots that are lent to the kernel: it reads them by itself after the call that asked for it has returned
 * (MSG_ZEROCOPY), and may go on after the process has died. Snapshots, which keep slots from being used again, end with
 * the process. So each slot has a count of how often it is lent, and one that is not 0 when the slot is taken for
 * something new gets other memory: the kernel keeps what it has.
 *
 *      sender    lent: count + 1   sendmsg()        the kernel is done: count - 1   closes its snapshot
 *                                  or gives up, or dies: the count stays
 *      taker                                                                        count > 0: other memory, count 0
 *
 * R28, as docs/models/lending.pml has it: (1) who takes a slot that is lent gives it other memory first; (2) the mark
 * that there are lent slots, which stays, comes before the count, (3) and both before the kernel is told; (4) the count
 * goes down when the kernel is done, (5) while the snapshot is open, (6) not at all if somebody gives up; (7) it
 * becomes 0 after the slot has other memory, (8) and before others see the slot.
 */

#include "libxac/ground/shared.h"

/* The bytes at the address, which are of a page of the pool, are lent or come back; a snapshot that shows them is open
 * all the while. -EINVAL: they are none of the pool's; -ENOSPC. */
int lending_lend(struct shared *shared, const void *bytes);
void lending_take_back(struct shared *shared, const void *bytes);

/* The slot is the caller's alone, and was lent: it gets other memory. False: there is none, and it may have lost what
 * it had. */
bool lending_renew(struct shared *shared, uint32_t slot);

/* How often each slot is lent; to be looked at only if there are any. */
static inline _Atomic uint32_t *lending_counts(const struct shared *shared)
{
        return (_Atomic uint32_t *)((char *)shared->control + shared->layout.lent);
}

static inline bool lending_is_lent(const struct shared *shared, uint32_t slot)
{
        return atomic_load_explicit(&shared->control->has_lent, memory_order_acquire) &&
               atomic_load_explicit(&lending_counts(shared)[slot], memory_order_acquire);
}

#endif
