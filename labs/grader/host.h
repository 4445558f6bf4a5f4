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

/* ------------------------------------------------------------------ for acts */

/* Does it, writes what comes back to `out`, and returns how much that is. */
typedef size_t host_act(const void *in, size_t in_len, void *out, size_t out_most);

/* Those of the lab, by their numbers. The last one is NULL. */
extern host_act *const host_acts[];

/* ------------------------------------------------------------------ for both */

/* Memory that the test, its workers and all their hosts share; zeros at first. Whoever asks first says how much. */
void *host_memory(size_t byte_len);

#endif
