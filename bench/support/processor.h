/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_PROCESSOR_H
#define BENCH_SUPPORT_PROCESSOR_H

/*
 * Which processor a thread runs on, so that where the kernel puts it is no part of what is measured. "All" are those
 * that this process, or the one that it was forked from, might use when it first called any of these.
 */

/* The calling thread stays on one of them all: workers get them in turn, from 0. Where that is not permitted, it stays
 * free. What it starts from then on stays there, too, unless it calls one of these itself. */
void processor_pin(int worker);
/* The calling thread may run on all of them again. */
void processor_free(void);
/* How many there are. */
int processor_count(void);

#endif
