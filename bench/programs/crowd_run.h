/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PROGRAMS_CROWD_RUN_H
#define BENCH_PROGRAMS_CROWD_RUN_H

/*
 * Runs a system with so many processes, once, and prints a line
 *
 *      us    faults    lost          an operation, all processes together; page faults and lost attempts for each
 *
 * Operations that were counted in the end must be those that were committed (bench/crew.h).
 */

#include "bench/crew.h"

/* What the command lines have in common. */
struct crowd_task {
        const char *way;
        int processes;
        uint64_t milliseconds, records;
};

extern struct crowd_task crowd_task;

/* PROGRAM WAY PROCESSES MILLISECONDS RECORDS; ends the program where that is wrong. */
void crowd_arguments(int argc, char **argv);
/* `faults`: of all processes until now; NULL: it takes none. */
int crowd_run(const struct system *system, uint64_t (*faults)(void *seat));

#endif
