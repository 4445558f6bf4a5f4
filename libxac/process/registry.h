/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PROCESS_REGISTRY_H
#define LIBXAC_PROCESS_REGISTRY_H

/*
 * The environments that this process has open, one object per directory; and what becomes of
 * them in a forked child (P9): it lets go of everything that would keep the parent looking alive
 * or its memory pinned, and the objects stay, so that calls on them can say XAC_FORKED.
 */

#include <sys/stat.h>

#include "libxac/store/env.h"

/* Opening and closing happen under this lock. */
void registry_lock(void);
void registry_unlock(void);

/* The open environment of this directory, or NULL. */
struct xac_env *registry_find_locked(const struct stat *directory);
void registry_add_locked(struct xac_env *env);
void registry_remove_locked(struct xac_env *env);

/* A snapshot, or a call that takes long, keeps its environment open, whatever the program closes meanwhile. Who
 * releases it last closes it, and returns what that does. */
void registry_hold(struct xac_env *env);
int registry_release(struct xac_env *env);

/* Gives the environment its mark that a fork wipes. -ENOMEM. */
int registry_make_fork_guard(struct xac_env *env);
void registry_free_fork_guard(struct xac_env *env);

#endif
