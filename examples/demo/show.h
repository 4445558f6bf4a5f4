/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_SHOW_H
#define EXAMPLES_DEMO_SHOW_H

/* What the demos show alike: numbers, progress while they run, the crash, and what survived it. */

#include <stdint.h>

#include "examples/demo/crash.h"

/* 1234567 -> "1,234,567"; the result lives until the next call but three. */
const char *show_number(uint64_t number);
double show_percent(uint64_t part, uint64_t whole);
double show_mib(uint64_t bytes);

/* On a terminal one line that is rewritten, else a line every now and then. `done_now` were done in the
 * `seconds` since the workers were started. */
void show_progress(const char *unit, uint64_t done, uint64_t all, uint64_t done_now, double seconds);
void show_progress_end(void);

void show_crash(const char *unit, int workers, const struct acks *acks, uint64_t lost_bytes);

/* xac_options' progress: how far recovery is. `arg` is a uint64_t, for the bytes of log that are replayed. */
void show_recovery(void *arg, const char *what, uint64_t done, uint64_t total);

/* Says it in words; returns whether all is as it must be. `what` is the thing that the workers make. */
int show_survival(const char *unit, const char *what, const struct survival *survival, uint64_t replayed_bytes,
                  double seconds);

#endif
