/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_STRANGERS_H
#define LIBXAC_CARE_STRANGERS_H

/*
 * The names of shared memory can be foreseen (R15), and everybody may make files in /dev/shm. A user who makes one of
 * an environment's three names in advance is a stranger to it: shared_is_trusted() says so, and the user has made
 * neither its lock file nor its manifest. No open believes such a file, and only its maker and root can remove it:
 * until then an open is -EACCES.
 */

#include <stdbool.h>

#include "libxac/ground/shared.h"

/* Prints a line for each name that somebody else has: the name, its owner, and what to do. */
void strangers_tell(const struct shared_identity *identity);

/* Has a stranger any of the names of the directory's environment? 1, 0; -ENOENT: it has none; or another error of
 * manifest_read(). */
int strangers_are_there(int directory);

/* Removes what strangers have made, and nothing else. Nobody opens the environment meanwhile: a copy without a lock
 * file gets one. -EBUSY: somebody has it open, or opens or closes it now; -EPERM: this user may not; -ENOTEMPTY: it is
 * a directory with something in it. */
int strangers_remove(int directory);

#endif
