/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_TALLY_H
#define TESTS_OPERATOR_OPERATOR_TALLY_H

/*
 * What the processes of the drill have done, in memory that they share: harms by kind, verdicts by tool, failures by
 * class.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/operator/operator_harm.h"

enum { TALLY_TOOLS = 24, TALLY_STATUSES = 7, TALLY_CLASSES = 200, TALLY_CLASS = 160, TALLY_SEEDS = 4 };
/* Beside the exit statuses 0 to 4. */
enum { TALLY_SIGNAL = 5, TALLY_KILLED = 6 };

struct tally_class {
        char name[TALLY_CLASS];
        uint64_t count;
        uint64_t round[TALLY_SEEDS];
};

struct tally {
        atomic_flag lock;
        _Atomic uint64_t rounds, harms, failures, exceptions;
        _Atomic uint64_t of_kind[HARM_KINDS];
        char tool[TALLY_TOOLS][24];
        uint64_t verdict[TALLY_TOOLS][TALLY_STATUSES];
        struct tally_class class[TALLY_CLASSES];
};

void tally_verdict(struct tally *tally, const char *tool, int status);
/* How often the class was met, with this one. */
uint64_t tally_failure(struct tally *tally, const char *name, uint64_t round);
void tally_print(const struct tally *tally, double seconds);

#endif
