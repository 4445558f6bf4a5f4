/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRAFTED_GROUND_H
#define TESTS_CRAFTED_GROUND_H

/*
 * The ground on which crafted directories stand: a file system in memory, and a /dev/shm of this process's own. All
 * else is mounted read-only, so that a tool that writes there fails. What lies beside the directories, and what their
 * links lead to, is compared after each tool.
 *
 *      GROUND/template/    env  archive  full  next  trace     made once, all sound
 *      GROUND/crafted/     the same, as a round has changed them
 *      GROUND/work/        a copy for each tool that writes, with `out` for what it makes
 *      GROUND/beside/      what nothing may touch
 */

#include <stdbool.h>
#include <stddef.h>

enum { GROUND_PATH = 4096 };

/* A path on the ground, for a moment: eight at once. */
const char *ground_path(const char *name);

/* Mounts it in a namespace of this process's own. False: not permitted here. */
bool ground_make(unsigned number);
/* Environments, archive, backups and trace, by this library's own calls and tools. */
void ground_make_template(void);

/* A directory with all that is in it, of whatever kind. The copy is there anew. */
void ground_copy(const char *from, const char *to);
/* An empty directory, whatever was there. */
void ground_begin(const char *name);
/* One name of a directory, if it is there. */
void ground_copy_entry(const char *from, const char *to, const char *name);
void ground_remove(const char *name);
/* What processes of the round have left in /dev/shm. */
void ground_clean_memory(void);

/* NULL: nothing beside the directories has changed; else what has. */
const char *ground_look_beside(void);

#endif
