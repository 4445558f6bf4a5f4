/* SPDX-License-Identifier: MIT */
#include "send/ring.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

/* Of Linux 6.2; headers may be older. */
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE  (1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif

/* Two answers for each call, and a response has some batches under way. */
enum { CALLS = 64, ANSWERS = 4096 };

struct ring {
        struct io_uring uring;
};

static bool knows_the_call(struct ring *ring)
{
        struct io_uring_probe *probe = io_uring_get_probe_ring(&ring->uring);
        const bool knows = probe && io_uring_opcode_supported(probe, IORING_OP_SENDMSG_ZC);
        io_uring_free_probe(probe);
        return knows;
}

int ring_open(struct ring **ring)
{
        struct io_uring_params params = { .flags = IORING_SETUP_CQSIZE, .cq_entries = ANSWERS };
        struct ring *made = calloc(1, sizeof(*made));
        int err = made ? io_uring_queue_init_params(CALLS, &made->uring, &params) : -ENOMEM;
        if (!err && !knows_the_call(made)) {
                io_uring_queue_exit(&made->uring);
                err = -ENOTSUP;
        }
        if (err)
                free(made);
        else
                *ring = made;
        return err;
}

void ring_close(struct ring *ring)
{
        if (!ring)
                return;
        io_uring_queue_exit(&ring->uring);
        free(ring);
}

int ring_send(struct ring *ring, int socket, const struct msghdr *message, uint32_t id)
{
        struct io_uring_sqe *entry = io_uring_get_sqe(&ring->uring);
        if (!entry)
                return -EBUSY;
        io_uring_prep_sendmsg_zc(entry, socket, message, MSG_DONTWAIT | MSG_NOSIGNAL);
        entry->ioprio |= IORING_SEND_ZC_REPORT_USAGE;
        io_uring_sqe_set_data64(entry, id);
        const int count = io_uring_submit(&ring->uring);
        return count == 1 ? 0 : count < 0 ? count : -EBUSY;
}

int ring_next(struct ring *ring, bool waits, struct ring_answer *answer)
{
        struct io_uring_cqe *entry;
        const int err = waits ? io_uring_wait_cqe(&ring->uring, &entry) : io_uring_peek_cqe(&ring->uring, &entry);
        if (err)
                return err == -EAGAIN && !waits ? 0 : err;
        *answer = (struct ring_answer){ .id = (uint32_t)io_uring_cqe_get_data64(entry),
                                        .is_done = entry->flags & IORING_CQE_F_NOTIF,
                                        .taken = entry->res,
                                        .will_tell = entry->flags & IORING_CQE_F_MORE };
        answer->was_copied = answer->is_done && (uint32_t)entry->res & IORING_NOTIF_USAGE_ZC_COPIED;
        io_uring_cqe_seen(&ring->uring, entry);
        return 1;
}
