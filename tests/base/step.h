/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_STEP_H
#define TESTS_UNIT_STEP_H

/*
 * Something happens before the n-th instruction of a function: with n = 1, 2, 3, ... every
 * interleaving of the two, or every place to die at, is tried, and each can be tried again.
 *
 * The processor's trap flag makes each instruction end in SIGTRAP. Only x86-64 lets a program
 * do this to itself; elsewhere step_is_possible() says no. So it does under ThreadSanitizer, which defers signals: the
 * instructions that it counts would be its own.
 */

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

/* AddressSanitizer makes several instructions of one: places that lie so much farther apart are as many. */
#if defined(__SANITIZE_ADDRESS__)
enum { STEP_SPREAD = 5 };
#else
enum { STEP_SPREAD = 1 };
#endif

static void (*step_action)(void);
static int step_wanted;
static volatile int step_count;
static volatile bool step_is_on;

static inline bool step_is_possible(void)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
        return true;
#else
        return false;
#endif
}

static inline void step_trap(int signal_no, siginfo_t *info, void *context)
{
        (void)signal_no, (void)info;
        if (step_is_on && ++step_count == step_wanted) {
                step_is_on = false;
                step_action();
        }
#if defined(__x86_64__)
        enum { TRAP_FLAG = 0x100 };
        greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

        *flags = step_is_on ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
#else
        (void)context;
#endif
}

/* Runs body(arg) with `action` before its n-th instruction; false if it has fewer. The first
 * few are those that begin and end the stepping itself. */
static inline bool step_run(int nth, void (*action)(void), void (*body)(void *arg), void *arg)
{
        struct sigaction trap = { .sa_sigaction = step_trap, .sa_flags = SA_SIGINFO };
        struct sigaction before;

        step_action = action;
        step_wanted = nth;
        step_count = 0;
        sigaction(SIGTRAP, &trap, &before);
        step_is_on = true;
        raise(SIGTRAP); /* on the way back the stepping begins */
        body(arg);
        step_is_on = false;
        raise(SIGTRAP); /* and ends, had it not come to the n-th */
        sigaction(SIGTRAP, &before, NULL);
        return step_count >= nth;
}

#endif
