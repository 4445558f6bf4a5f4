/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_LEXICON_CHECK_H
#define EXAMPLES_DEMO_LEXICON_CHECK_H

/* What must be true of the dictionary after a crash. */

#include "examples/demo/crash.h"
#include "examples/demo/lexicon.h"

/* Checks every page, and compares the dictionary with what was acknowledged and with the headers: it must be the one
 * that somebody gets who enters the first steps of each worker, one after the other, by the same code in ordinary
 * memory. 0 or a negative code. */
int lexicon_check(struct lexicon *lexicon, const struct acks *acks, const struct sources *sources,
                  struct survival *survival);

#endif
