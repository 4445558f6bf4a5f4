/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_CREW_H
#define TESTS_SUPPORT_CREW_H

/*
 * Processes and threads of a test, memory they share, and how they wait for each other.
 *
 * Every process made here dies with its parent (PR_SET_PDEATHSIG) and belongs to the
 * test's process group, so that the runner's time limit ends all of them.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef void (*crew_body)(int index, void *arg);

/* `count` processes (threads) run body(0, arg) ... body(count - 1, arg); returns when all
 * are done, and fails the test when one failed. */
void crew_processes(int count, crew_body body, void *arg);
void crew_threads(int count, crew_body body, void *arg);

/* The same one by one. */
pid_t crew_fork(crew_body body, int index, void *arg);
void crew_join(pid_t pid);  /* it must end with status 0 */
int crew_status(pid_t pid); /* waits; the status as waitpid(2) tells it */
void crew_kill(pid_t pid);  /* SIGKILL, and waits */

/* This process is killed (SIGKILL) if it hangs: if it is not done within twice so many seconds from now, and more if
 * the machine is busy (leeway.h); 0: no longer. An alarm(2) would wait as long as a fault is being handled: libsigsegv
 * blocks it meanwhile. */
void crew_limit_s(unsigned seconds);

/* Ends this process as a test process ends: leaks looked for, coverage written, no exit
 * handlers of the parent run. */
_Noreturn void crew_exit(int status);

/* Zeroed memory that children forked later share with this process. */
void *crew_shared(size_t byte_len);

/* A number that only grows, in shared memory: the steps of an interleaving. */
struct crew_turn {
        _Atomic uint32_t number;
};

void crew_turn_pass(struct crew_turn *turn);                   /* number + 1, wakes everybody */
void crew_turn_await(struct crew_turn *turn, uint32_t number); /* until it is at least that */
/* The same, but not for longer: false when the time was up. */
int crew_turn_await_ms(struct crew_turn *turn, uint32_t number, unsigned ms);

/* Everybody of `count` arrives before anybody goes on. Zeroed memory is a new one. */
struct crew_barrier {
        struct crew_turn arrivals;
};

void crew_barrier_wait(struct crew_barrier *barrier, uint32_t count);

void crew_sleep_ms(unsigned ms);
uint64_t crew_clock_ns(void);

#endif
