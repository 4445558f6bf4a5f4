/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_JOBS_H
#define EXAMPLES_DEMO_JOBS_H

/*
 * What the child processes of wordcount do. Each opens the environment for itself, does its
 * job and returns its exit status; complaints go to stderr.
 */

#include <stdint.h>

#include "examples/demo/children.h"
#include "examples/demo/index.h"
#include "examples/demo/text.h"

/* Indexes what is left of one part of the text, one transaction per word; each that was committed
 * is noted in the file of acknowledgements (acks.h). */
int job_work(const char *directory, int worker, struct text part, int acks_fd, struct tally *tally);

/* Compares the table with itself and with the workers' progress until the work is over. */
int job_audit(const char *directory, struct tally *tally);

/* The workers' progress as of one moment; 0 or a negative code. */
int job_progress(struct index *index, uint64_t words[WORKERS_MAX]);

#endif
