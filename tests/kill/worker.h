/* SPDX-License-Identifier: MIT */
#ifndef TESTS_KILL_WORKER_H
#define TESTS_KILL_WORKER_H

#include "tests/kill/tally.h"

struct worker_orders {
        struct tally *tally;
        const char *dir;
};

/* The life of a worker process at a seat: opens, lets its tellers work, sometimes leaves in
 * good order; mostly it is killed before. A crew_body. */
void worker_main(int seat, void *orders);

/* Threads that a worker at this seat has. */
unsigned worker_threads(unsigned seat);

#endif
