/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_BACKLOG_H
#define LIBXAC_TXN_BACKLOG_H

/*
 * The backlog: commits that do not wait for the disk, and that the log does not have yet. Nobody needs their records
 * before the next sync; by then it is enough to log how the pages differ from what the log has, once for all of them,
 * as one record that stands for so many commits (LOG_MERGED). So such a commit costs what one in a volatile environment
 * does, and a page that a thousand of them change is compared and logged once.
 *
 *      commits   ... 40 | 41 42 43 44 45 46 | 47 48
 *                       base               next    sequence
 *      log       ... 40 | merged 41 to 46     <- being logged: pages as of 46 against pages as of 40
 *
 * R19  base and next are pins, set under the commit lock; base is stored before the first commit of the backlog is
 *      decided. The merged record is decided by one store (publish.c); base follows, or becomes 0 when nothing was
 *      committed since. A commit has a record of its own only while there is no backlog. What says how far the log goes
 *      (a group's mark, a checkpoint's C) says base while there is one.
 */

#include "libxac/ground/participant.h"
#include "libxac/store/files.h"

static inline bool backlog_exists(const struct shared *shared)
{
        return atomic_load(&shared->control->backlog_base) != 0;
}

/* The next commit, of a durable environment, is part of it. */
void backlog_join_locked(struct shared *shared);

/* Logs all that was in it when this was called. 0 also when there was none; XAC_POISONED, -ENOSPC, -ENOMEM, -EMFILE,
 * ...: it is as large as before. May be called in the fault handler. */
int backlog_log(struct participant *self, struct files *files);

/* For a while each commit that does not wait gets a record of its own, so that commits that do wait find no backlog. */
void backlog_pause(struct shared *shared);
/* Does a commit that does not wait fall into such a while? Its snapshot decides, so that nothing has to be read that
 * others write. */
static inline bool backlog_is_paused(const struct shared *shared, uint64_t snapshot)
{
        return snapshot < atomic_load_explicit(&shared->control->backlog_pause, memory_order_relaxed);
}

#endif
