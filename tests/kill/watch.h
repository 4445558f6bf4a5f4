/* SPDX-License-Identifier: MIT */
#ifndef TESTS_KILL_WATCH_H
#define TESTS_KILL_WATCH_H

/*
 * Does everybody get on? Looks at the tellers' pulses again and again: whoever is at work and has
 * finished nothing for too long is stuck.
 */

#include "tests/kill/tally.h"

void watch_start(struct tally *tally, uint64_t patience_ms);
/* The number of a teller that is stuck, or -1. Milliseconds are those of an idle machine (leeway.h). */
int watch_look(void);
/* A worker at this seat has gone: its tellers' time begins anew. */
void watch_forget(int seat);

double watch_still_ms(unsigned teller);
const char *watch_state(unsigned teller);
/* Of anybody who was at work and did not wait for the disk. */
double watch_longest_ms(void);

#endif
