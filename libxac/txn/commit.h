/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_COMMIT_H
#define LIBXAC_TXN_COMMIT_H

/*
 * The commit of a transaction: everything that can fail first, then the lock, then what others
 * did meanwhile, then publication (R5, I5).
 */

#include "libxac/txn/txn.h"

/* 0: it is visible to everybody. XAC_CONFLICT, -ENOMEM, -ENOSPC (no room for the log), ...: nothing happened. A commit
 * that is waiting for the disk has a record of its own; others are part of the backlog. */
int commit_written(struct txn *txn, bool is_waiting);
static inline int commit_run(struct txn *txn, bool is_waiting)
{
        txn->log_end = 0;
        if (!txn->pages.writes.count)
                return 0; /* it has read one snapshot: as of then it is serializable */
        return commit_written(txn, is_waiting);
}
/* Returns once it is durable, if it is to wait for that. XAC_POISONED: visible, and nobody knows. */
int commit_wait_for_log(struct txn *txn);
static inline int commit_wait(struct txn *txn)
{
        return txn->log_end ? commit_wait_for_log(txn) : 0;
}
/* After a commit, with no snapshot published: what it displaced is reclaimed, and pages go home
 * when the pool is nearly full. */
void commit_tidy(struct txn *txn);
/* After a transaction that found no room, the same way: while it was open, the pages that its own views show could not
 * go home (touch_make_room). */
void commit_make_room(struct txn *txn);

#endif
