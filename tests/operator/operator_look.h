/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_LOOK_H
#define TESTS_OPERATOR_OPERATOR_LOOK_H

/*
 * The tools that an operator takes in hand, each with options drawn at random, and what its verdict is held to.
 */

#include "tests/operator/operator_round.h"

/* One of them. False: it was not for this round (there is no backup, for instance). */
bool look_once(struct round *round);

/* All is there again: a program goes on, and the archive brings a backup to where it is. */
void look_for_gap(struct round *round);

#endif
