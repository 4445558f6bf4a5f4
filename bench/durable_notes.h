/* SPDX-License-Identifier: MIT */
#ifndef BENCH_DURABLE_NOTES_H
#define BENCH_DURABLE_NOTES_H

/*
 * What the workers of a crew write down at the beginning and at the end of what is measured: the
 * environment's counters (xac_stat), and the bytes that each process has caused the kernel to send
 * to the disk (write_bytes of /proc/self/io, proc(5)).
 */

#include "bench/crew.h"

struct notes;

struct notes *notes_new(int threads_of_each_process);
void notes_free(struct notes *notes);

/* For crew_plan.note, with the notes as its argument. The first looks at /proc only; the second is for
 * seats of system_commit. */
void notes_take_io(void *arg, void *seat, int worker, enum crew_moment moment);
void notes_take_all(void *arg, void *seat, int worker, enum crew_moment moment);

/* From the beginning to the end. */
double notes_kernel_bytes(const struct notes *notes);
double notes_commits(const struct notes *notes);
double notes_groups(const struct notes *notes);
double notes_log_bytes(const struct notes *notes);
double notes_record_bytes(const struct notes *notes);
double notes_checkpoints(const struct notes *notes);

#endif
