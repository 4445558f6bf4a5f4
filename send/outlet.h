/* SPDX-License-Identifier: MIT */
#ifndef SEND_OUTLET_H
#define SEND_OUTLET_H

/*
 * The way out: a connected stream socket, and what the kernel still has of what it was told to send without copies.
 *
 * Each call with MSG_ZEROCOPY has a number, from 0 on. The kernel says on the socket's error queue which of them are
 * done (and whether it has copied after all, as it does for a peer on the same machine). Until then the batch stays,
 * and its pages are lent (xac_snapshot_lend(3)). With a ring the same comes from there (send/uring.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/send.h>

#include "send/batch.h"
#include "send/uring.h"

struct outlet {
        int socket;
        struct uring *ring;         /* NULL: MSG_ZEROCOPY */
        bool has_zerocopy;          /* the socket knows it */
        uint32_t next_id;           /* of the next call with it */
        uint64_t done, done_copied; /* calls */
        struct batch *current;      /* that is being sent */
        struct batch *in_flight;    /* that were sent */
        struct batch *spare;        /* to be used again */
        xac_snapshot *snapshot;     /* whose pages are lent */
        xac_send_stats *stats;
};

/* -ENOTSOCK, -ENOTCONN, -EPROTOTYPE; errors of uring_open(), if there is to be one. */
int outlet_open(struct outlet *outlet, int socket, bool has_ring, xac_send_stats *stats);
/* Whatever the kernel still has: it keeps it. */
void outlet_close(struct outlet *outlet);

/* An empty batch with the usual room, or more. NULL: no memory. */
struct batch *outlet_batch(struct outlet *outlet, size_t room_len);
/* Sends what goes without waiting. 1: all of it, and the batch is the outlet's; 0: the socket is full; -EPIPE, ... */
int outlet_send(struct outlet *outlet, struct batch *batch, bool is_zerocopy);
/* Takes back what the kernel is done with. 0, or an error of the socket. */
int outlet_reap(struct outlet *outlet);
/* Forgets what is left of the batch that is being sent. */
void outlet_drop(struct outlet *outlet);
/* The snapshot will be closed: pages that the kernel still has stay lent for good. */
void outlet_give_up_pages(struct outlet *outlet);

/* Is something under way of which poll() will not tell? */
static inline bool outlet_is_silent(const struct outlet *outlet)
{
        return outlet->ring && (outlet->in_flight || (outlet->current && outlet->current->pending));
}

/* Does it copy anyhow, as far as is known? */
static inline bool outlet_copies(const struct outlet *outlet)
{
        return !outlet->has_zerocopy || (outlet->done && outlet->done_copied == outlet->done);
}

#endif
