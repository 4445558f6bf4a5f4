/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_REPLAY_H
#define LABS_ISOLATION_REPLAY_H

/*
 * A second opinion on a history, by nothing that the answer says: transactions are replayed one after the other, in
 * whatever order lets each find the versions that it has read and written.
 */

#include <stdbool.h>

#include "labs/isolation/history.h"

/* Is there such an order of all of them? In a history that lacks none that is so if and only if it has no cycle. */
bool replay_finds_order(const struct history *history);

#endif
