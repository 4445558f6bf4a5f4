/* SPDX-License-Identifier: MIT */
#ifndef BENCH_DURABLE_SYSTEMS_H
#define BENCH_DURABLE_SYSTEMS_H

/*
 * The two systems that bench/durable compares, for the crew of bench/crew.h:
 *
 *      system_commit   a durable transaction that increments one word of a random page, by declared access
 *      system_bare     what the disk allows: the same write that a commit is, in a loop. 4,096 bytes, O_DIRECT
 *                      and O_DSYNC (where there is no O_DIRECT: fdatasync), into a file that was filled with
 *                      zeros and is used from its beginning again when its end is reached
 */

#include "bench/crew_systems.h"

enum { COMMIT_PAGES = 4096 };

/* For the task of either: a transaction counts once. */
extern const struct work commit_work;

extern const struct system system_commit, system_bare;

/* The environment of one of system_commit's seats. */
xac_env *commit_seat_env(void *seat);

/* Makes an environment as it is in long use: the log has been full once, so that its segments are recycled, not made. A
 * process keeps it open, as the last close would leave a few of them. */
struct scratch;
void commit_make_used(struct scratch *scratch, const xac_options *options);
/* Lets that process end, and removes the environment. */
void commit_remove_used(struct scratch *scratch);

#endif
