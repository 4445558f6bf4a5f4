/* SPDX-License-Identifier: MIT */
#ifndef SEND_URING_H
#define SEND_URING_H

/*
 * MSG_ZEROCOPY's other form: io_uring's SENDMSG_ZC. A call has two answers: how much was taken, at once; and, when the
 * kernel is done with the memory, so much. Both come through a ring in shared memory, not through the socket's error
 * queue.
 *
 * uring.c has it where liburing is there; else uring_none.c says that there is none.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct uring;

struct uring_answer {
        uint32_t id;     /* of the call */
        bool is_done;    /* the kernel needs the memory no more; else: */
        ssize_t taken;   /* bytes, or -errno */
        bool will_tell;  /* another answer will come */
        bool was_copied; /* if it is done: the kernel has copied after all */
};

/* -ENOTSUP: without liburing, or no such call in this kernel; -EPERM, -ENOSYS, -ENOMEM, ... */
int uring_open(struct uring **ring);
/* Whatever the kernel still has: it keeps it. */
void uring_close(struct uring *ring);
/* Sends what goes without waiting; the answers have this number. 0, or -errno: there will be no answers. */
int uring_send(struct uring *ring, int socket, const struct msghdr *message, uint32_t id);
/* The next answer. 1; 0: there is none yet; -errno. `waits`: for one that must come. */
int uring_next(struct uring *ring, bool waits, struct uring_answer *answer);

#endif
