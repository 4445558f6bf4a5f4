/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_VERIFY_H
#define TESTS_CRASH_VERIFY_H

/*
 * The judge of images of environments (engine.h).
 *
 *      first life    an offline check finds no damage; the environment opens; what it holds is the world after
 *                    some commits of each lane, nothing else; one more commit succeeds; the process
 *                    ends without closing, as a power cut ends it
 *      second life   the same again: that commit is there; the environment is closed and checked, opened once more,
 *                    and is still the same
 *
 * Each life is a process of its own without shared memory from before, and has a time limit.
 */

#include "tests/crash/engine.h"

struct verifier {
        struct judge judge;
        char directory[256]; /* where images are put; must be there */
        void *shared;        /* what a life has to tell */
};

void verifier_init(struct verifier *verifier, const char *directory);

#endif
