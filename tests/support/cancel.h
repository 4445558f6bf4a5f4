/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_CANCEL_H
#define TESTS_SUPPORT_CANCEL_H

/*
 * Cancels threads that are in a call of the library (pthread_cancel), at random moments, again and again. Then nobody
 * is blocked, and nothing leaks: descriptors, mappings of files, participants, shared memory, half-made backups.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/xac.h>

struct cancel_call {
        void *(*begin)(xac_env *env);         /* once in each thread: what the call gets */
        void (*call)(xac_env *env, void *it); /* again and again, until it is cancelled */
        bool is_endless;                      /* it returns only when it is cancelled */
};

/* How often each call is cancelled: so many times in `make check`, or as `--cancels N` says. */
void cancel_options(int argc, char **argv);
/* In a scratch directory; the environment is made there. */
void cancel_again_and_again(const struct cancel_call *call);

#endif
