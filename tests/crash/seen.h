/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_SEEN_H
#define TESTS_CRASH_SEEN_H

/*
 * The images that have been judged, and what was found in each, in memory that processes share: an image is judged
 * once, and compared with what was promised wherever else it comes up.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/crash/trace.h"

struct seen;

struct seen *seen_new(uint64_t capacity); /* a power of two */
void seen_free(struct seen *seen);
bool seen_find(const struct seen *seen, uint64_t hash, uint64_t found[TRACE_CHANNELS]);
/* False: it was there already. Two processes may add the same at once: one of them. */
bool seen_add(struct seen *seen, uint64_t hash, const uint64_t found[TRACE_CHANNELS]);
uint64_t seen_count(const struct seen *seen);

#endif
