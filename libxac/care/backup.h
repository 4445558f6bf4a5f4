/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_BACKUP_H
#define LIBXAC_CARE_BACKUP_H

/*
 * A backup of an environment that is in use: the pages that one snapshot shows, handed to backup/, which writes them.
 *
 * The snapshot is a participant like any long reader. What it sees stays where it is until it ends: a version in the
 * pool, or the page at home, where no newer one goes meanwhile (I3). So nothing is locked, and nobody waits.
 */

#include "libxac/store/env.h"

int backup_env(struct xac_env *env, const char *destination, const xac_backup_options *options);

#endif
