/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_RARE_H
#define TOOLS_XAC_TRACE_RARE_H

/*
 * Where more things are to be counted than there is room for, the rare ones are forgotten: which are they?
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_rare {
        uint64_t least;     /* who counts less is rare */
        uint32_t may_equal; /* so many of those that count as much are not */
};

/* `stay` of `count` items are not; each has its number, a uint64_t, at `number_at`. 0 < stay <= count. 0 or -ENOMEM. */
int trace_rare_find(struct trace_rare *rare, const void *items, uint32_t count, size_t item_len, size_t number_at,
                    uint32_t stay);
/* To be asked once for each item. */
bool trace_rare_is(struct trace_rare *rare, uint64_t number);

#endif
