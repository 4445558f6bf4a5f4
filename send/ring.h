/* SPDX-License-Identifier: MIT */
#ifndef SEND_RING_H
#define SEND_RING_H

/*
 * MSG_ZEROCOPY's other form: io_uring's SENDMSG_ZC. A call has two answers: how much was taken, at once; and, when the
 * kernel is done with the memory, so much. Both come through a ring in shared memory, not through the socket's error
 * queue.
 *
 * ring.c has it where liburing is there; else ring_none.c says that there is none.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct ring;

struct ring_answer {
        uint32_t id;     /* of the call */
        bool is_done;    /* the kernel needs the memory no more; else: */
        ssize_t taken;   /* bytes, or -errno */
        bool will_tell;  /* another answer will come */
        bool was_copied; /* if it is done: the kernel has copied after all */
};

/* -ENOTSUP: without liburing, or no such call in this kernel; -EPERM, -ENOSYS, -ENOMEM, ... */
int ring_open(struct ring **ring);
/* Whatever the kernel still has: it keeps it. */
void ring_close(struct ring *ring);
/* Sends what goes without waiting; the answers have this number. 0, or -errno: there will be no answers. */
int ring_send(struct ring *ring, int socket, const struct msghdr *message, uint32_t id);
/* The next answer. 1; 0: there is none yet; -errno. `waits`: for one that must come. */
int ring_next(struct ring *ring, bool waits, struct ring_answer *answer);

#endif
