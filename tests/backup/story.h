/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKUP_STORY_H
#define TESTS_BACKUP_STORY_H

/*
 * Writers whose commits are known, so that a copy of their environment can be judged: it must show a prefix of what
 * each of them has done, everything that it had done before, and nothing that came later.
 *
 *      "stamped"   plain pages that all of them change; each byte follows from how many changes there were (stamped.h)
 *      "deeds"     trees, of one kind or the other, with a lane for each writer (tests/trees/deeds.h)
 *      "heap"      a heap, likewise (tests/heap/deeds.h)
 *
 * Each commit is noted, in memory that all share, when it is acknowledged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/libxac/stamped.h"
#include "tests/trees/xtree.h"

enum { STORY_WRITERS = 4, STORY_EVENTS = 1 << 20 };

/* How many of each writer's commits there were. */
struct story_time {
        uint64_t done[STORY_WRITERS];
};

/* In memory that is shared from now on; trees of this kind. */
void story_begin(enum xtree_kind kind, uint32_t pages, uint64_t seed);
/* Writers work in the environment, until story_end(), and with pauses of so many microseconds. */
void story_start_writers(const char *directory, unsigned pause_us);
void story_end_writers(void);
struct story_time story_now(void);

/* What is in the environment `directory`, which is opened and closed, is as of a moment between the two times. A
 * process of its own does that. */
void story_check(const char *directory, const struct story_time *since, const struct story_time *until);

#endif
