/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_ENVIRONMENT_H
#define LABS_GRADER_ENVIRONMENT_H

/* An environment of libxac in the folder of a test, small enough for 64 MiB of /dev/shm. */

#include <stddef.h>

#include <xac/xac.h>

/* Opens "NAME" (which ends in .xac), creating it if need be, and maps `byte_len` bytes of its file "data"; or
 * grader_fail(). Each process calls it for itself; a second time it gets the same, until it has closed both. `flags`
 * are those of xac_open(), with XAC_ANYWHERE for the view. */
void *environment_open(const char *name, size_t byte_len, int flags, xac_env **env);
void environment_close(xac_env *env);

/* For struct grader_lab: gives back the shared memory of environments whose processes were killed. */
void environment_clean(void);

#endif
