/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_RANDOM_H
#define LABS_GRADER_RANDOM_H

/* What grader_random() draws from. */

#include "labs/grader/grader.h"

/* The same seed and name give the same numbers. */
void random_begin(uint64_t seed, const char *name);

#endif
