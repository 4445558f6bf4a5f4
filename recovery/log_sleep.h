/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_SLEEP_H
#define RECOVERY_LOG_SLEEP_H

/* The words on which sleeps who waits for a group or for room in the ring (log_writer.c says which, and why none sleeps
 * for ever). */

#include "recovery/log_writer.h"

void log_sleep_on(_Atomic uint32_t *word, uint32_t seen, _Atomic uint32_t *sleepers, uint64_t timeout_ns);
/* Those of the groups of one parity; `count` of them. */
void log_wake_class(struct log_shared *shared, uint32_t parity, int count);
void log_wake_for_room(struct log_shared *shared);
void log_wake_everybody(struct log_shared *shared);

#endif
