/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_USE_H
#define TESTS_OPERATOR_OPERATOR_USE_H

/*
 * One tool, used in a round: it runs, or is killed while it does; its end is noted, and judged.
 */

#include "tests/operator/operator_round.h"

void use_run(struct round *round, const char *const *args, bool may_die);
void use_note(struct round *round, const char *ended);
/* The last one has done what it was to do, and nothing was wrong with that so far. */
bool use_is_done(const struct round *round);
/* The same, when its verdict was judged: of a tool that looks at the environment. */
bool use_judge(struct round *round, const char *tool, bool is_harmed);
/* What somebody took as it was is the content now: false then. */
bool use_is_known(const struct round *round);
/* So that the next tool can make it. */
void use_remove_made(void);

#endif
