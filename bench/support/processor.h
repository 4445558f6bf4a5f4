/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_PROCESSOR_H
#define BENCH_SUPPORT_PROCESSOR_H

/*
 * Which processor a thread runs on. Left to itself the kernel now and then puts two busy workers on one processor, and
 * leaves another idle, for longer than a cell is measured: then that is what is measured.
 */

/* The calling thread stays on one of the processors it may use: workers get them in turn, from 0. Where that is not
 * permitted, it stays free. */
void processor_pin(int worker);

#endif
