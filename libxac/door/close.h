/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_DOOR_CLOSE_H
#define LIBXAC_DOOR_CLOSE_H

#include "libxac/store/env.h"

/*
 * xac_close. The last close of a process leaves the environment; the last process brings all
 * versions home and removes the shared memory. Runs under byte 0 of the lock file (R15).
 */
int close_env(struct xac_env *env);

/* What a thread has open in it: until that is given up, by whatever thread, or the thread ends, a close is -EBUSY.
 * XAC_FORKED; -EINVAL: nothing is. */
int close_retain(struct thread *thread);
int close_give_up(struct xac_env *env);

/* What ends an environment that a snapshot has kept open, under the registry's lock (registry_release). */
int close_last_locked(struct xac_env *env);

#endif
