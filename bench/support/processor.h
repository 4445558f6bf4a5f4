/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_PROCESSOR_H
#define BENCH_SUPPORT_PROCESSOR_H

/*
 * Which processor a thread runs on, so that where the kernel puts it is no part of what is measured.
 */

/* The calling thread stays on one of the processors it may use: workers get them in turn, from 0. Where that is not
 * permitted, it stays free. */
void processor_pin(int worker);

#endif
