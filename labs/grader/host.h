/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_HOST_H
#define LABS_GRADER_HOST_H

/*
 * The answer runs in a process of its own, its host, and never in one that judges. A test asks the host to do
 * something, an act, by its number and some bytes, and judges the bytes that come back and what has become of files and
 * shared memory. What it is told by the host it believes no more than any other output of the answer.
 *
 *      grader ──fork──> test ──fork──> worker 1        judge; no process of the answer can reach into them
 *                        │               │
 *                      exec            exec            another program, confined (confine.h)
 *                        │               │
 *                      host            host            the answer, and the acts of the lab (acts.c)
 *
 * Each process of a test, be it the test itself or one of its workers, has a host of its own as soon as it asks for
 * something, and the host ends with it.
 *
 * `make show` and `make debug` need no judge whom nobody can reach. There host_here.c calls the acts in the same
 * process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------ for tests */

/* The host does this act; `out_len` bytes come back. If it fails, crashes or ends, so does the test. */
void host_do(int act, const void *in, size_t in_len, void *out, size_t out_len);

/* The same; at most `out_most` bytes come back. Returns how many. */
size_t host_ask(int act, const void *in, size_t in_len, void *out, size_t out_most);

/* The next act is done by a new host, which has seen nothing. */
void host_new(void);

/* The same, by one that may make child processes; all others make threads alone (calls.h). */
void host_with_fork(void);

/* Hosts that start from now on share the count of accesses (stops_count()), or do not, as at first. */
void host_count(bool is_counted);

/* What the acts from now on are done by: the host that there has been from the start, or another one. That one is
 * told of nothing else: it may write no file, and shares no memory with anybody. It judges, by code of the answer, what
 * the others have left. */
enum host_place { HOST_BESIDE, HOST_APART, HOST_PLACES };
void host_choose(enum host_place place);

/* ------------------------------------------------------------------ for acts */

/* Does it, writes what comes back to `out`, and returns how much that is. */
typedef size_t host_act(const void *in, size_t in_len, void *out, size_t out_most);

/* Those of the lab, by their numbers. The last one is NULL. */
extern host_act *const host_acts[];

/* ------------------------------------------------------------------ for both */

/* Memory that the test, its workers and all their hosts share; zeros at first. The test asks before it starts any, and
 * says how much: no host has more. Where it does not ask, hosts share nothing. */
void *host_memory(size_t byte_len);

#endif
