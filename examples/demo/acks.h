/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_ACKS_H
#define EXAMPLES_DEMO_ACKS_H

/*
 * What the workers were told: for each worker the number of transactions of which it heard that they are
 * committed. It stands outside the environment, in a plain file, as the users of a server remember
 * what it has answered, so that after a crash the environment can be held to it.
 */

#include <stdint.h>

enum { WORKERS_MAX = 64 };

struct acks {
        uint64_t done[WORKERS_MAX];
};

/* Makes a file of zeros; a descriptor or -errno. It may be used by forked children. */
int acks_create(const char *path);
/* 0 or -errno. */
int acks_note(int fd, int worker, uint64_t done);
int acks_read(int fd, struct acks *acks);

uint64_t acks_total(const struct acks *acks);

#endif
