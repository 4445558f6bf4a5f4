/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_SCRATCH_H
#define LABS_GRADER_SCRATCH_H

/* An empty folder below $TMPDIR for a test, and its removal with all that is in it. */

enum { SCRATCH_NAME_BYTES = 4096 };

int scratch_make(char name[SCRATCH_NAME_BYTES]); /* 0 or -errno */
void scratch_remove(const char *name);

/* Calls clean(), unless it is NULL, in a process of its own in that folder. */
void scratch_clean(const char *name, void (*clean)(void));

/* For a program of its own: makes a folder and goes there. When the program and all that it starts have ended, however
 * they end, the folder is cleaned and removed. 0 or -errno. */
int scratch_enter(void (*clean)(void));

#endif
