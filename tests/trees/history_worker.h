/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_HISTORY_WORKER_H
#define TESTS_TREES_HISTORY_WORKER_H

/*
 * The processes and threads that play scripts on trees and note what they were told.
 */

#include "tests/trees/history_world.h"

/* A worker process, until the run is over (crew_body; the world is the argument). */
void worker_process(int number, void *world);

/* Opens the environment of the world. */
xac_env *worker_open_env(const struct history_world *world);

#endif
