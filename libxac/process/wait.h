/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PROCESS_WAIT_H
#define LIBXAC_PROCESS_WAIT_H

/*
 * Waiting for a change: the `retry` of T. Harris, S. Marlow, S. Peyton Jones and M. Herlihy, "Composable memory
 * transactions" (PPoPP 2005), between processes. The open transaction is undone; its thread sleeps until a commit has
 * changed a page that it had read. How commits find it is the business of waiters.h.
 */

#include "libxac/process/thread.h"

/* XAC_CONFLICT: changed, run it again. -ETIMEDOUT; XAC_POISONED: nothing will change any more; what doomed the
 * transaction; -ENOSPC, -ENOMEM. In all these cases the transaction is undone, with all its levels. XAC_NOTXN; -EINVAL:
 * it was begun with XAC_RDONLY, or a wrong timeout; nothing has happened. No timeout: NULL. */
int wait_for_change(struct thread *thread, const struct timespec *timeout);

#endif
