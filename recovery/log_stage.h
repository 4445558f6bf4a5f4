/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_STAGE_H
#define RECOVERY_LOG_STAGE_H

/* The ring between those who stage records (log_writer.h has their half) and the leader who writes them. */

#include "recovery/log_writer.h"

bool log_stage_has_room(const struct log *log, uint64_t end, uint32_t byte_len);
/* Ends what is staged with a pad, up to the end of a block, unless it ends so already: its leader then died, or it
 * was pushed. R6: whatever a dead committer left behind `end` is overwritten. Returns the end. Caller holds the host's
 * lock. */
uint64_t log_stage_pad_locked(struct log *log);
/* Where the bytes [from, to) begin in the ring, and how many of them stand together. */
uint64_t log_stage_look(const struct log *log, uint64_t from, uint64_t to, const char **bytes);

#endif
