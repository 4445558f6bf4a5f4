/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_CONFINE_H
#define LABS_GRADER_CONFINE_H

/*
 * What keeps an answer, while it is compiled and while it runs, from the files and processes of whoever grades it.
 *
 *   another user    if the grader runs as root: a number that nobody has
 *   Landlock        if the kernel has it (Linux 5.13; all of the below from 6.12 on): only files that are named can be
 *                   opened, no process outside can be traced or get a signal, no TCP
 *   limits          no core files, half an hour of a processor, and processes of the other user are counted
 *
 * No program that it starts gets more rights than it has.
 */

#include <stdbool.h>
#include <sys/types.h>

/* Another user for answers, of whom no process is there. 0: the grader is not root, or GRADER_USER=0 forbids it. */
uid_t confine_user(void);

/* This process becomes that user, unless it is 0. Nobody but root can look into its memory from now on. */
int confine_become(uid_t user); /* 0 or -errno */

/* Makes a set of rules: what lies below the folders of `readable` may be read and run, what lies below those of
 * `writable` may be changed, and what lies below those of `updated` may be written where it is there: no file can be
 * made, moved or removed. Each ends with NULL; what is not there is left out. Returns a descriptor; -ENOSYS: the kernel
 * has no Landlock. */
int confine_rules(const char *const *readable, const char *const *writable, const char *const *updated);

/* From now on for this process and all that it starts. rules < 0: limits alone. 0 or -errno. */
int confine_enter(int rules, uid_t user);

/* Ends all processes below this one, which must be their subreaper, those that have left their session among them. Of
 * the other user, unless it is 0, all processes. */
void confine_end_all(uid_t user);

#endif
