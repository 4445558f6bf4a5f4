/* SPDX-License-Identifier: MIT */
#include "send/uring.h"

#include <errno.h>
#include <stddef.h>

int uring_open(struct uring **ring)
{
        *ring = NULL;
        return -ENOTSUP;
}

/* The others are never called: there is no ring. */

void uring_close(struct uring *ring)
{
        (void)ring;
}

int uring_send(struct uring *ring, int socket, const struct msghdr *message, uint32_t id)
{
        (void)ring;
        (void)socket;
        (void)message;
        (void)id;
        return -ENOTSUP;
}

int uring_next(struct uring *ring, bool waits, struct uring_answer *answer)
{
        (void)ring;
        (void)waits;
        (void)answer;
        return -ENOTSUP;
}
