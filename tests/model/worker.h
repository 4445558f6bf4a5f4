/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_WORKER_H
#define TESTS_MODEL_WORKER_H

/*
 * The processes and threads that play scripts against the library and record them.
 */

#include "tests/model/world.h"

/* A worker process, until the run is over (crew_body; world is the argument). */
void worker_process(int number, void *world);

#endif
