/* SPDX-License-Identifier: MIT */
#include "send/ring.h"

#include <errno.h>

int ring_open(struct ring **ring)
{
        *ring = NULL;
        return -ENOTSUP;
}

/* The others are never called: there is no ring. */

void ring_close(struct ring *ring)
{
        (void)ring;
}

int ring_send(struct ring *ring, int socket, const struct msghdr *message, uint32_t id)
{
        (void)ring;
        (void)socket;
        (void)message;
        (void)id;
        return -ENOTSUP;
}

int ring_next(struct ring *ring, bool waits, struct ring_answer *answer)
{
        (void)ring;
        (void)waits;
        (void)answer;
        return -ENOTSUP;
}
