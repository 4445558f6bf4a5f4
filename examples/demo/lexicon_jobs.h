/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_LEXICON_JOBS_H
#define EXAMPLES_DEMO_LEXICON_JOBS_H

/*
 * What the child processes of identifiers do. Each opens the environment for itself, does its
 * job and returns its exit status; complaints go to stderr.
 */

#include "examples/demo/children.h"
#include "examples/demo/lexicon.h"

/* Enters what is left of one worker's steps, each in a transaction; each that was committed is noted in the
 * file of acknowledgements (acks.h). */
int lexicon_work(const char *directory, const struct sources *sources, int worker, int workers, int acks_fd,
                 struct tally *tally);

/* Reads the whole dictionary in order, and compares it with the workers' progress, until the work is over. */
int lexicon_audit(const char *directory, int workers, struct tally *tally);

#endif
