/* SPDX-License-Identifier: MIT */
#ifndef OUTSIDERS_OUTSIDER_H
#define OUTSIDERS_OUTSIDER_H

/*
 * What is linked into a program of others: its memory (memory.c), calls whose buffers are exchanged (calls.c), and who
 * takes page faults (faults.c).
 */

#include <xac/xac.h>

/* From here on: libxac serves faults of its own when a heap is opened. */
void faults_watch(xac_env *env);
/* Adds lines to the file OUTSIDER_FAULTS: "fault FUNCTION COUNT CALLER" for each function of a library that took
 * faults, the outermost one; FUNCTION is "-" where compiled code itself did. And "served COUNT", which libxac has
 * counted. */
void faults_tell(xac_env *env);

#endif
