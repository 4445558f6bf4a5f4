/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_ACTOR_H
#define TESTS_SUPPORT_ACTOR_H

/*
 * A second participant that does what the test tells it, so that an interleaving of two
 * transactions reads from top to bottom:
 *
 *         xbegin(seat.env, 0);
 *         seat_write(0, 1);
 *         actor_do(other, seat_commit_add, 0);     commits in between, in its own thread
 *         check_code(xend(seat.env), XAC_CONFLICT);
 *
 * It is a thread or a process (WAY_PROCESS). A process must be started before its parent
 * opens the environment: an open environment is not inherited (P9).
 */

#include <stdint.h>

#include "tests/support/isolate.h"

struct actor;

/* An action's argument and result are numbers: pointers mean nothing in another process. */
typedef long long (*actor_action)(uint64_t arg);

struct actor *actor_start(int way);
long long actor_do(struct actor *actor, actor_action action, uint64_t arg);

/* The same in two halves, for actions that wait for something. */
void actor_send(struct actor *actor, actor_action action, uint64_t arg);
int actor_is_done(struct actor *actor);
long long actor_result(struct actor *actor);

/* It ends when it has done what it was told. */
void actor_stop(struct actor *actor);
/* SIGKILL, at once; processes only. */
void actor_kill(struct actor *actor);

#endif
