/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TOOLS_TRACE_CHEW_H
#define TESTS_TOOLS_TRACE_CHEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_chewed {
        int err;
        uint64_t damages;
        uint64_t events;
        uint64_t tracks;
};

/* Reads what may be a trace, counts it and prints it in all ways. False: the figures contradict each other, or
 * something printed is not what it should be, which `what` tells. */
bool trace_chew(const void *bytes, size_t byte_len, struct trace_chewed *chewed, const char **what);

#endif
