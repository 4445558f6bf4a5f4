/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_ALLOWANCE_H
#define LIBXAC_GROUND_ALLOWANCE_H

/*
 * How much shared memory this process may still touch (R44): what its control group leaves, less a reserve for the
 * program itself, the page cache and others in the group. A look at the group costs system calls, so each look grants
 * some of what is left.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory_group.h"

struct allowance {
        struct memory_group group;
        _Atomic uint64_t granted; /* [threads of this process] bytes that may be touched without another look */
};

/* What the group says of what it has already. Bytes. */
struct allowance_view {
        uint64_t most;  /* shared memory of one environment; UINT64_MAX: nothing limits it */
        uint64_t lacks; /* so much is to be given back, or the kernel may soon end somebody; 0: nothing */
        bool is_short;  /* it may lack some soon: to be looked at again in a moment */
};

void allowance_begin(struct allowance *allowance);
/* What is touched of the room of a group at most, in bytes; UINT64_MAX: nothing limits it. */
uint64_t allowance_within(const struct memory_room *room);
/* Bytes that may be touched now; UINT64_MAX: nothing limits it. */
uint64_t allowance_now(const struct allowance *allowance);
/* All that the group allows, or the machine has. Bytes. */
uint64_t allowance_limit(const struct allowance *allowance);
void allowance_look(const struct allowance *allowance, struct allowance_view *view);
/* False: they had better not be touched. Async-signal-safe. */
bool allowance_take(struct allowance *allowance, uint64_t bytes);

#endif
