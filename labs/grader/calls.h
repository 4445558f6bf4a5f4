/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_CALLS_H
#define LABS_GRADER_CALLS_H

/*
 * The system calls that an answer may make while it runs: those that a program makes for files that are there, for its
 * own memory and threads, and for time. A filter of the kernel (seccomp) refuses all others, those that are newer than
 * this list among them. So:
 *
 * It makes threads, and no processes. A process could go on when its host is killed, or poll while its host sleeps.
 *
 * It makes, moves and removes no file, no folder and no shared memory, and changes no owners, rights, times and
 * attributes of files. Those of an environment are there.
 *
 * It has no sockets, queues, semaphores, keys, and no timers but its own.
 *
 * It touches neither memory, descriptors, priorities, limits nor namespaces of other processes, and signals nobody.
 *
 * libxac needs no more for an environment that is there, nor does the C library.
 *
 * Where there is no environment, or the process stands apart from it (HOST_APART), it also leaves nothing that another
 * process could find, or a later one: no locks, which any file has that all can open, no lengths of files, no flags of,
 * and places in, what it has open together with others. Nor is it told which pages are in memory, or how much of it is
 * left. It moves no pages. What remains: how long things take, how many threads there are, and when a file was read
 * last.
 */

enum calls {
        CALLS_ALONE, /* it has no environment */
        CALLS_OF_ANSWERS,
        CALLS_WITH_FORK /* the lab itself asks for a child process */
};

/* From now on for this process and all that it executes. Returns 0 or -errno: the kernel has no such filters, or the
 * machine is neither x86-64 nor aarch64. */
int calls_limit(enum calls calls);

#endif
