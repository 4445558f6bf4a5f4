/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_FRAMES_H
#define LIBXAC_VIEW_FRAMES_H

/*
 * Frames: what a thread writes again and again in a view stays where it is mapped. Which pages those are, and how
 * many a thread may have.
 *
 *                       a page like others                a framed page
 *      first write      copy to a slot, map that          make the frame writable
 *      commit           make it read-only; it is the      make it read-only; copy it to a slot, which is
 *                       version                           the version
 *
 * One system call instead of a new mapping, which takes three times as long, for a page of memory more. The page is
 * framed when it is written for the second time in turn by the same thread.
 */

#include "libxac/txn/txn.h"

/* Only a thread whose views are announced (view_sync.h) has frames, or may get some. */

/* Before a commit, when nothing is writable any more: the view keeps the slots of framed pages, and the transaction
 * gets others. A page for which there is no slot is framed no longer. If the commit fails, the pages are to be hidden.
 */
void frames_keep(struct txn *txn);
/* Gives all of them up, and hides whatever the views show besides; M stays. 0, or -ENOMEM. */
int frames_drop(struct txn *txn);
/* The same where the pool has little room. */
int frames_give_way(struct txn *txn);

#endif
