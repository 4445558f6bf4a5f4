/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_CHECKPOINT_STEPS_H
#define LIBXAC_CARE_CHECKPOINT_STEPS_H

/*
 * The steps of a checkpoint (checkpoint.h), for checkpoint.c, which takes each of them once, and checkpoint_batches.c,
 * which takes some of them again and again.
 */

#include "libxac/store/home.h"
#include "libxac/version/dirty.h"
#include "recovery/double_write.h"

/* In memory of its own: this may run in the fault handler, on a small stack. */
struct checkpoint {
        const struct home_writer *writer;
        struct shared *shared;
        uint64_t sequence; /* C */
        uint64_t position;
        uint64_t redo;
        struct dirty dirty; /* what is not home, in the order of pages */
        struct manifest manifest;
};

struct double_write_id checkpoint_buffer_id(const struct checkpoint *checkpoint);
/* Into the buffer that the manifest in memory does not name; then it does. `batch`: NULL for the whole, or the last
 * batch.
 */
int checkpoint_write_buffer(struct checkpoint *checkpoint, const struct dirty *dirty,
                            const struct double_write_batch *batch);
/* Names that buffer as the checkpoint's, or as a batch's. */
int checkpoint_name_buffer(struct checkpoint *checkpoint, bool is_batch);

/* The pages that are not home are more than a buffer may have, `most`. -EOVERFLOW: nobody knows what may be a batch
 * (moves.h), and nothing has been done. */
int checkpoint_batches_begin(struct checkpoint *checkpoint, uint32_t most);
/* The manifest has a target: goes on, up to the last batch. `dirty` is what is not home as of the target. */
int checkpoint_batches_go_on(struct checkpoint *checkpoint);

#endif
