/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_INDEX_CHECK_H
#define EXAMPLES_DEMO_INDEX_CHECK_H

/* What must be true of the index after a crash. */

#include "examples/demo/crash.h"
#include "examples/demo/index.h"
#include "examples/demo/text.h"

/* Compares the index with what was acknowledged, and with the text: the table must be the one that somebody gets
 * who counts the first words of each worker's part, serially, in ordinary memory. 0 or a negative code. */
int index_check(struct index *index, const struct acks *acks, struct text text, int workers, struct survival *survival);

#endif
