/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_DOOR_READING_H
#define LIBXAC_DOOR_READING_H

/*
 * Opening for reading only (XAC_RDONLY). What is possible depends on the state that the environment is in:
 *
 *      at rest   nobody has it open, and it was closed cleanly: it is read as it stands in its files.
 *                Nothing is written, and no name is made; what other processes share belongs to this one
 *                alone. Who may open the lock file shares byte 0 of it with others who read. Who opens it for
 *                writing waits meanwhile, and those who come later wait a second behind him. Who may not open
 *                the lock file looks at each begin and each end whether it still is at rest (at_rest.h)
 *      in use    a participant like others, whose transactions are all read-only
 *      else      an error, and a line that says who can do what
 */

#include "libxac/store/env.h"

enum { READING_BESIDE = 1 };

/* Opens the lock file, if it may be opened, and judges. 0: at rest, and locked where that is possible; READING_BESIDE:
 * in use; -EUCLEAN, -EACCES, -EROFS, and what the manifest says. The lock file stays the caller's in any case (-1: not
 * open), as does reading_end. identity: who owns the directory, and its path. */
int reading_begin(struct xac_env *env);
/* At rest: memory of this process in the place of shared memory. XAC_CORRUPT: a file is not as it was closed. */
int reading_open(struct xac_env *env);
void reading_end(struct xac_env *env);

#endif
