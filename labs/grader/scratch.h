/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_SCRATCH_H
#define LABS_GRADER_SCRATCH_H

/* An empty folder below $TMPDIR for a test, and its removal with all that is in it. */

#include <sys/types.h>

enum { SCRATCH_NAME_BYTES = 4096 };

/* For another user, unless it is 0. 0 or -errno. */
int scratch_make(char name[SCRATCH_NAME_BYTES], uid_t user);
void scratch_remove(const char *name);

/* Calls clean(), unless it is NULL, in a process of its own in that folder, as that user. What the user has in /dev/shm
 * afterwards is removed. */
void scratch_clean(const char *name, uid_t user, void (*clean)(void));

/* For a program of its own: makes a folder and goes there. When the program and all that it starts have ended, however
 * they end, the folder is cleaned and removed. 0 or -errno. */
int scratch_enter(void (*clean)(void));

#endif
