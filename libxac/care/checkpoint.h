/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_CHECKPOINT_H
#define LIBXAC_CARE_CHECKPOINT_H

/*
 * The checkpoint: brings versions home so that their slots, and the log, can be used again.
 *
 *      1. pin        C = (sequence, end of the log, redo point), under the commit lock; C is a snapshot (R2)
 *      2. log        durable up to C's end
 *      3. buffer     visible(page, C) of every page that is not home, into the double-write buffer that the manifest
 *                    does not name; sync
 *      4. manifest   names C and that buffer (R18); segments below the redo point are recycled
 *      5. home       pages that no snapshot holds back (I3); sync; their heads flip (R13)
 *
 * If a buffer may not have so many pages, 3 to 5 are done in batches, each in the buffer that the manifest does not
 * name (checkpoint_batches.c). Until the last one the manifest keeps the old base and names C as its target. A
 * checkpoint that failed or died between batches is finished first by the next one; C stays pinned so long.
 *
 * A page that is held back stays in the pool and is part of the next buffer, so that a long reader neither stalls
 * commits nor lets the log grow. In a volatile environment there are only 1 and 5.
 *
 * One at a time, under the checkpoint lock, by whoever wants it; a dead one's successor begins anew: what is
 * on disk, not what is in shared memory, says which buffer may be written.
 */

#include <stdbool.h>

#include "libxac/store/home.h"

/* 0, -EBUSY (another one runs, and the writer does not want to wait), XAC_POISONED, -ENOSPC (double-write buffer or
 * home; what was not written stays in the pool), -EIO (poisons a durable environment), ... */
int checkpoint_run(const struct home_writer *writer);

/* For the last one to leave, after a checkpoint that brought everything home: the manifest says that there is
 * nothing to replay. */
int checkpoint_mark_clean(struct shared *shared, int directory);
/* For whoever attaches to shared memory that is there after all: the last close may have failed, or its process may
 * have died, when that was written. */
int checkpoint_mark_unclean(struct shared *shared, int directory);

/* From checkpoint_hold to checkpoint_release no process runs a checkpoint, so checksums and manifest do not change.
 * The caller takes over from a process that died with the lock. */
void checkpoint_hold(struct shared *shared, uint32_t owner);
void checkpoint_release(struct shared *shared);

#endif
