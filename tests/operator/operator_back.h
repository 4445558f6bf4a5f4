/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_BACK_H
#define TESTS_OPERATOR_OPERATOR_BACK_H

/*
 * Back to what was: restores from backups, with the archive or without, and the archive itself. As in operator_look.h.
 */

#include "tests/operator/operator_round.h"

bool back_restore(struct round *round);
bool back_by_archive(struct round *round);
bool back_look(struct round *round); /* at the archive */
bool back_keep(struct round *round); /* log in it */

/* All is there again: a program goes on, and the archive brings a backup to where it is. */
void back_look_for_gap(struct round *round);

#endif
