/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_REPLAY_H
#define TESTS_MODEL_REPLAY_H

/*
 * The scripts of a round once more, one after another in a serial order, on plain memory:
 * every value read must be the one the attempt had read through the library.
 */

#include "tests/model/history.h"
#include "tests/model/order.h"

struct replay_page {
        uint64_t word[MODEL_SLOTS];
};

struct replay; /* the plain memory; it lasts from round to round */

struct replay *replay_new(const struct script_world *world);
void replay_free(struct replay *replay);

/* Plays a round; differences are printed and counted in the history. */
void replay_round(struct replay *replay, struct history *history, const struct order *order);

/* What the model's words must be now. */
const struct replay_page *replay_pages(const struct replay *replay);

#endif
