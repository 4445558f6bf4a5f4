/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_SCRATCH_H
#define LABS_GRADER_SCRATCH_H

/* An empty folder below $TMPDIR for a test, and its removal with all that is in it. */

enum { SCRATCH_NAME_BYTES = 4096 };

int scratch_make(char name[SCRATCH_NAME_BYTES]); /* 0 or -errno */
void scratch_remove(const char *name);

#endif
