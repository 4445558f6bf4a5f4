/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_STEPS_H
#define LABS_GRADER_STEPS_H

/*
 * Two processes, where one is stopped between two of its accesses while the other runs: not by luck, but at each place
 * in turn. With n from 1 on, steps_meet() tries every schedule with one switch there and back. Most races need no more
 * (M. Musuvathi and S. Qadeer, "Iterative context bounding", PLDI 2007).
 *
 * What both did in which order is kept, and can be shown. Steps are accesses of the answer to memory that an act
 * watches (stops.h). For labs with `ACCESS = yes`.
 */

#include <stdbool.h>
#include <stddef.h>

/* A runs first(arg) and is stopped before its n-th step (-n: its n-th write). B runs second(arg) from begin to end, and
 * A goes on. If B has not ended after a second, it may be waiting for A, which then goes on, too. Returns false if A
 * has ended before its n-th step; B has then run after it. */
bool steps_meet(int n, void (*first)(void *arg), void (*second)(void *arg), void *arg);

/* The same for an A that may wait for B by itself: B also runs when A is asleep, and has been for a while. Returns
 * false if A has ended before its n-th step or sleeps. An A that sleeps on after B has ended is killed. */
bool steps_meet_sleeper(int n, void (*first)(void *arg), void (*second)(void *arg), void *arg);
bool steps_slept_on(void);

/* Did B end while A stood, in the last steps_meet()? It has so long from now on, instead of a second. */
bool steps_passed(void);
void steps_patience(int ms);

/* A is killed before its n-th step. Returns false if it has ended before. */
bool steps_kill(int n, void (*first)(void *arg), void *arg);

/* Runs first(arg) alone, and ends it. Does it fall asleep within so long? */
bool steps_sleeps(void (*first)(void *arg), void *arg, int idle_ms);

/* What a loop over n asks at its end, when A has been stopped before each step up to `most`: if A still stood before
 * the last one, it may have more of them, at which nothing was tried. grader_fail(); what: A's accesses. */
void steps_require_end(bool stands, int most, const char *what);

/* The steps of the last steps_meet() or steps_kill(), a line each. name_of() writes what lies at an offset of the
 * memory. */
void steps_show(char *text, size_t text_bytes, void (*name_of)(size_t offset, char *name, size_t name_bytes));

/* Did 'A' or 'B' read (or write) any of these bytes in the last steps_meet()? Of very many steps the first 400 count.
 */
bool steps_accessed(char who, bool is_write, size_t offset, size_t byte_len);

/* How often did it access this byte? */
int steps_at(char who, size_t offset);

/* How many reads and writes, or writes alone, are among them. */
int steps_taken(char who, bool are_writes);

#endif
