/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIMITS_GROUND_H
#define TESTS_LIMITS_GROUND_H

/*
 * Where a cell of the table takes place: an environment on a small disk in memory, in a /dev/shm of its own, in a
 * namespace of mounts that ends with it. It belongs to a user without rights, as limits do not hold for root.
 *
 * What is committed is one counter, of which everybody knows what was acknowledged, and words that never change.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/arena.h>
#include <xac/heap.h>
#include <xac/tree.h>
#include <xac/xac.h>

#define GROUND_DISK "/mnt"
#define GROUND_ENV  GROUND_DISK "/env"
#define GROUND_NEW  GROUND_DISK "/new"
#define GROUND_SHM  "/dev/shm"

enum { GROUND_USER = 12345, GROUND_WORDS_PAGES = 64, GROUND_MANY_PAGES = 1024, GROUND_PAGE_WORDS = 512 };

/* What a cell's processes share. */
struct ground_told {
        uint64_t acknowledged; /* of the counter */
        uint64_t doubtful;     /* and what may be, or may not: after XAC_POISONED */
};

struct ground {
        struct ground_told *told;
        xac_env *env;
        uint64_t *words; /* the counter is the first */
        uint64_t *many;
        xac_heap *heap;
        xac_arena *arena;
        xac_tree *tree;
        xac_snapshot *snapshot;
};

/* By root, in a process of its own. False: namespaces are not allowed here. */
bool ground_make(void);
/* A process of the user that has no rights. */
void ground_become_user(void);

/* Opens it, with all that there is in it; makes it, if there is none. */
void ground_open(struct ground *ground);
int ground_open_env(const char *path, int flags, xac_env **env);
/* All but the environment. */
void ground_close_users(struct ground *ground);
/* Adds 1 to the counter. */
int ground_count(struct ground *ground, int flags);
/* Everything is as it should be: else the process ends with a line. */
void ground_check(struct ground *ground);

#endif
