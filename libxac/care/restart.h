/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_RESTART_H
#define LIBXAC_CARE_RESTART_H

/*
 * New shared memory for an environment that nobody has open: after the first creation, a clean close, a copy of
 * the directory, or the death of the machine. Recovers first (recovery/recover.h), so that every page is
 * home as of the newest commit that the log proves.
 */

#include "libxac/store/env.h"

/* Caller holds byte 0 of the lock file; *manifest is as read. -EBUSY: somebody has the environment open
 * where its shared memory is not ours to see (a container); XAC_CORRUPT, -ENOSPC, -ENOMEM, ... */
int restart_env(struct xac_env *env, struct manifest *manifest);

#endif
