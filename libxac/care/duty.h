/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_DUTY_H
#define LIBXAC_CARE_DUTY_H

/*
 * The background thread that each process has for an environment. Whichever is woken does what is
 * due, for all: lets the pool grow before it must, and, in a durable environment, makes the next log segment, puts on
 * disk what commits did not wait for, runs a checkpoint; and looks after those who wait for a change. Election is a
 * hint: it holds no lock but that of what it is doing, so that anybody may do the same while it is stopped, and the
 * next call wakes another when it is dead.
 */

#include "libxac/store/env.h"

/* Without it (-EAGAIN, -ENOMEM: no thread could be made) transactions do its work themselves. */
int duty_start(struct xac_env *env);
/* Returns when it has finished what it is doing. */
void duty_stop(struct xac_env *env);

#endif
