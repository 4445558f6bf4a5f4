/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_JOBS_H
#define EXAMPLES_DEMO_JOBS_H

/*
 * What the child processes of the demo do. Each opens the environment for itself, does its
 * job and returns its exit status; complaints go to stderr.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "examples/demo/index.h"
#include "examples/demo/text.h"

/* Ordinary shared memory for figures that are not part of the index. */
struct tally {
        _Atomic uint64_t conflicts; /* lost races of workers, run again */
        _Atomic uint64_t looks;     /* audits that found everything in order */
        _Atomic int is_over;        /* tells the auditor that the workers have ended */
};

/* Indexes what is left of one part of the text, one transaction per word; each that was committed
 * is noted in the file of acknowledgements (acks.h). */
int job_work(const char *directory, int worker, struct text part, int acks_fd, struct tally *tally);

/* Compares the table with itself and with the workers' progress until the work is over. */
int job_audit(const char *directory, struct tally *tally);

/* The workers' progress as of one moment, INDEX_WORKERS_MAX of them; 0 or a negative code. */
int job_progress(struct index *index, uint64_t words[]);

#endif
