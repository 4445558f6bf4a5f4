/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CHILDREN_H
#define EXAMPLES_DEMO_CHILDREN_H

/* The processes of a demo: the workers, and the auditor behind them; and the figures that they share. */

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "examples/demo/acks.h"

/* Ordinary shared memory for what is not part of the data. */
struct tally {
        _Atomic uint64_t conflicts; /* lost races of workers, run again */
        _Atomic uint64_t looks;     /* audits that found everything in order */
        _Atomic int is_over;        /* tells the auditor that the workers have ended */
};

struct children {
        int workers;
        /* What a child does, and its exit status; number `workers` is the auditor. */
        int (*job)(void *demo, int number);
        void *demo;
        struct tally *tally;
        pid_t child[WORKERS_MAX + 1]; /* 0: none */
};

/* 0 or -errno. */
int children_start(struct children *children);

/* Collects the children that have ended. Returns how many workers still run, or -1 when a
 * child has failed. */
int children_running(struct children *children);

/* Tells the auditor to look once more and waits for it; its exit status. */
int children_end_audit(struct children *children);

/* Sends the signal to each of them and waits until all are gone. */
void children_kill(struct children *children, int signal_number);

#endif
