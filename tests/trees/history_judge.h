/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_HISTORY_JUDGE_H
#define TESTS_TREES_HISTORY_JUDGE_H

/*
 * Was everything that the workers were told true?
 *
 * The library numbers its commits, and each attempt notes the newest that it saw and, if it published anything, its
 * own. That is a serial order which is claimed. The judge plays all scripts in it on plain memory, and compares each
 * word:
 *
 *      a commit reads    what the commits before it have left: just before its own number. So a lookup that
 *                        found nothing, or the gap between two records of a scan, is as much validated as a record
 *      XAC_SNAPSHOT_ISOLATION      what it saw at its beginning; and nobody else has changed in between what it changes
 *      all others        what there was when they began: readers, the aborted, the lost
 *
 * If every word is the same, the order explains the history, however the numbers came about. It must also agree with
 * the clock: who had ended before another began comes before it. Who read as of what was durable comes after those only
 * that had been promised to be so.
 */

#include "tests/trees/history_world.h"

struct judge;

struct judge *judge_new(const struct history_options *options);
void judge_free(struct judge *judge);

/* Judges a round: what differs is printed, and how much is returned. */
uint64_t judge_round(struct judge *judge, const struct record_log *logs, uint32_t round);

/* What must be there now; 0: nothing. */
uint64_t judge_tag(const struct judge *judge, unsigned tree, unsigned key);

#endif
