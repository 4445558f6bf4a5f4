/* SPDX-License-Identifier: MIT */
#ifndef BASE_INVARIANT_H
#define BASE_INVARIANT_H

/*
 * invariant(condition) states what the code around it relies on. Builds for tests (--enable-test-hooks,
 * --enable-sanitizers, --enable-invariants) evaluate the condition. If it is false they print where, and end the
 * program. Other builds compile the condition and do not evaluate it, so it must have no side effect.
 */

#ifdef XAC_INVARIANTS

/* Async-signal-safe: also for what a page fault does. */
_Noreturn void invariant_broken(const char *condition, const char *file, int line);

#define invariant(condition) ((condition) ? (void)0 : invariant_broken(#condition, __FILE__, __LINE__))

#else

#define invariant(condition) ((void)sizeof((condition) ? 1 : 0))

#endif
#endif
