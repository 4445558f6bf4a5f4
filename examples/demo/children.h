/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CHILDREN_H
#define EXAMPLES_DEMO_CHILDREN_H

/* The processes of the demo: the workers, and the auditor behind them. */

#include <sys/types.h>

#include "examples/demo/jobs.h"

struct demo {
        const char *directory;
        struct text text;
        int acks_fd;
        struct tally *tally;
        int workers;
        pid_t child[INDEX_WORKERS_MAX + 1]; /* the last one is the auditor; 0: none */
};

/* 0 or -errno. */
int children_start(struct demo *demo);

/* Collects the children that have ended. Returns how many workers still run, or -1 when a
 * child has failed. */
int children_running(struct demo *demo);

/* Tells the auditor to look once more and waits for it; its exit status. */
int children_end_audit(struct demo *demo);

/* Sends the signal to each of them and waits until all are gone. */
void children_kill(struct demo *demo, int signal_number);

#endif
