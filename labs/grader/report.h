/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_REPORT_H
#define LABS_GRADER_REPORT_H

/*
 * What `make grade` shows: a line for each test, why one has failed and how to repeat it, the sum, and all of it as one
 * line of JSON, the last.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "labs/grader/attempt.h"
#include "labs/grader/grader.h"

struct report;

/* `broken`, if not NULL, is a file: the answer did not compile, and this is what the compiler said. */
struct report *report_open(const char *lab, const char *again, uint64_t seed, const char *broken);

/* `attempt` is NULL for a test for which no time was left, or which could not begin. */
void report_test(struct report *report, const struct grader_test *test, bool is_hidden, const struct attempt *attempt);

/* Have all tests got their points so far? */
bool report_is_full(const struct report *report);

/* What was measured of an answer that has all marks, or why it could not be. */
void report_measure(struct report *report, const struct grader_test *measure, const struct attempt *attempt);

/* The sum, the line of JSON with GRADER_NONCE as it was when the report was opened, also into the file `json` if not
 * NULL. Returns whether all tests passed. */
bool report_close(struct report *report, const char *json);

#endif
