/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_DOOR_OPEN_H
#define LIBXAC_DOOR_OPEN_H

#include "libxac/store/env.h"

/*
 * xac_open: the directory, its lock file and manifest, then the shared memory, attached to or made.
 * Runs under byte 0 of the lock file (R15).
 */
int open_env(const char *dir, int flags, const xac_options *options, struct xac_env **env);

#endif
