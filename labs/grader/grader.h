/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_GRADER_H
#define LABS_GRADER_GRADER_H

/*
 * What the graders of all labs share: a list of tests, each with its points, becomes a program.
 *
 * Each test runs in a process of its own, in an empty folder, with a limit of time. It gets its points if `run`
 * returns. It gets none if it, or a process that it has started, calls grader_fail(), crashes, ends early or is out of
 * time. What it leaves behind, processes and files, is removed. The answer runs in yet other processes (host.h).
 *
 * A test that draws at random draws from grader_random() only: its numbers follow from the seed and the name of the
 * test, so that a test that is run alone draws the same. Nobody finds the seed or later numbers by those that the
 * answer sees. What a host stumbles by is its own.
 */

#include <stdint.h>

struct grader_test {
        const char *name; /* a word: `make grade ONLY=name` runs this test alone */
        const char *what; /* what is looked at, in a line */
        int points;
        int seconds; /* it has so long; 0: 10 */
        void (*run)(void);
};

struct grader_lab {
        const char *name;                 /* its folder */
        const struct grader_test *tests;  /* end with one that has no name */
        const struct grader_test *hidden; /* the same; hidden_tests, below */
        /* If not NULL, called in the folder of each test after it has ended, however it has ended. */
        void (*clean)(void);
};

/* The tests that students do not have: of hidden.c, or an empty list (no_hidden.c). */
extern const struct grader_test hidden_tests[];

/* Called before grader_main(): an answer that gets all marks is measured. `measure` runs as a test does, without
 * points, the answer optimized and its accesses unseen, and calls grader_measured(). Less is better. */
void grader_measures(const struct grader_test *measure);
void grader_measured(double value);

/* main() of a grader. */
int grader_main(int argc, char **argv, const struct grader_lab *lab);

/* For tests and the processes they start: no points, and this is why. Ends the process. */
_Noreturn void grader_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* grader_fail() unless `is_good`. */
void grader_check(int is_good, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* So many times longer than alone may things take now: the processes that want to run per processor, and
 * GRADER_PATIENCE. At least 1. */
int grader_patience(void);

/* 0 to below - 1. */
uint32_t grader_random(uint32_t below);

/* What this process draws from now on is of a stream of its own. */
void grader_random_stream(uint32_t number);

#endif
