/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FAILURE_REMAINS_H
#define TESTS_FAILURE_REMAINS_H

/*
 * Environments as a process left them in the scratch directory, for tests to spoil.
 */

#include "tests/failure/world.h"

/* Closed in good order: everything is at home, in two files. */
void remains_of_closed(void);

/* Of processes that were killed: every page of the first file is at home, and half of them have
 * newer versions in the shared memory. What is at home alone is in remains_at_home. */
void remains_of_killed(void);
extern struct world_truth remains_at_home;

/* Another process finds what world_truth says, and leaves nothing behind. */
void remains_prove(void);

#endif
