/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRAFTED_RUN_H
#define TESTS_CRAFTED_RUN_H

/*
 * Runs xac, with limits: a tool that meets a crafted directory ends within ten seconds of an idle machine, by itself,
 * with 1 GiB of memory at most.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CRAFTED_ARGS = 10, CRAFTED_SECONDS = 10, CRAFTED_MEMORY = 1 << 30 };

struct crafted_run {
        int pid, from; /* while it runs */
        uint64_t begun_ns;
        int status, signal;
        int hung;       /* it was killed then */
        long memory_kb; /* resident, the most */
        double seconds;
        char command[1024];
        size_t said_len;
        char said[4096]; /* the beginning */
};

void crafted_choose(const char *path);
/* Is the program executed, or called in a child of this process, which has it loaded and linked? At first it is
 * executed. */
void crafted_execute(bool on);
void crafted_run(struct crafted_run *run, const char *const *args);
/* The same of a server: it is let run until it has made the file, or has ended; and is then told to end. */
void crafted_begin(struct crafted_run *run, const char *const *args, const char *file);
void crafted_end(struct crafted_run *run);
/* NULL: it kept the limits; else which one it did not. */
const char *crafted_fault(const struct crafted_run *run);

#endif
