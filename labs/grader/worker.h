/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_WORKER_H
#define LABS_GRADER_WORKER_H

/* The processes that a test starts. One that crashes or fails, or whose host does (host.h), fails the test. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that calls run(arg) and ends. What it draws at random is of stream `number`. */
pid_t worker_start(int number, void (*run)(void *arg), void *arg);

/* Waits until it has ended, and for how it ended: grader_fail() if it did not end well. */
void worker_join(pid_t worker, const char *what);

/* `count` of them at once, numbered from 1, and waits for all. arg is handed to each. */
void worker_crew(int count, void (*run)(void *arg), void *arg);

/* It is killed, and the host of the answer with it; both are no more when this returns. */
void worker_kill(pid_t worker);

/* Stops its host with all threads, whatever they are about to do, and waits until they stand. A worker whose host has
 * answered by then has gone on, or ended. SIGCONT to the host lets it go on. */
void worker_hold(pid_t worker);
void worker_let_go(pid_t worker);

/* To the worker and its host: SIGSTOP, SIGCONT. */
void worker_signal(pid_t worker, int number);

/* host.c says which host this process has from now on; 0: none. */
void worker_has_host(pid_t host);

/* Not waited for: worker_join() says how. */
bool worker_has_ended(pid_t worker);

/* Waits until it is asleep, with its host, and has not run for a while; for `limit_ms` at most. Returns false if it
 * still runs then, or has ended. */
bool worker_await_sleep(pid_t worker, int limit_ms);

/* How often the thread that does the acts of its host has gone to sleep so far; -1: it could run, or is no more.
 * Threads that libxac has in the background do not count. */
long worker_sleeps(pid_t worker);

/* How many threads its host has, or it has itself, if it has none; that of a test is getpid(). 0: it is no more. */
int worker_threads(pid_t worker);

/* A number that tells which threads these are, and changes when one ends or begins. */
uint64_t worker_thread_set(pid_t worker);

/* The number of the worker that asks; 0: it is the test itself. */
int worker_number(void);

#endif
