/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_LOOK_H
#define TESTS_OPERATOR_OPERATOR_LOOK_H

/*
 * The tools that look at an environment, change it, or open it, each with options drawn at random; and what its verdict
 * is held to. False: it is not for this round (there is no backup, for instance).
 */

#include "tests/operator/operator_round.h"

/* What only looks. */
bool look_check(struct round *round);
bool look_check_backup(struct round *round);
bool look_log(struct round *round);
bool look_stat(struct round *round);
bool look_clean(struct round *round);
/* What opens it. */
bool look_scrub(struct round *round);
bool look_recover(struct round *round);
bool look_backup(struct round *round);
bool look_program(struct round *round); /* that is not xac */
/* What changes it. */
bool look_repair(struct round *round);

#endif
