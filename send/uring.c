/* SPDX-License-Identifier: MIT */
#include "send/uring.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

#include "base/low_descriptors.h"

/* Of Linux 6.2; headers may be older. */
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE  (1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif

/* Two answers for each call, and a response has some batches under way. */
enum { CALLS = 64, ANSWERS = 4096 };

struct uring {
        struct io_uring uring;
};

static bool knows_the_call(struct uring *ring)
{
        struct io_uring_probe *probe = io_uring_get_probe_ring(&ring->uring);
        const bool knows = probe && io_uring_opcode_supported(probe, IORING_OP_SENDMSG_ZC);
        io_uring_free_probe(probe);
        return knows;
}

int uring_open(struct uring **ring)
{
        struct io_uring_params params = { .flags = IORING_SETUP_CQSIZE, .cq_entries = ANSWERS };
        struct uring *made = calloc(1, sizeof(*made));
        struct low_descriptors low;
        low_descriptors_hold(&low);
        int err = made ? io_uring_queue_init_params(CALLS, &made->uring, &params) : -ENOMEM;
        low_descriptors_release(&low);
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

void uring_close(struct uring *ring)
{
        if (!ring)
                return;
        io_uring_queue_exit(&ring->uring);
        free(ring);
}

int uring_send(struct uring *ring, int socket, const struct msghdr *message, uint32_t id)
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

int uring_next(struct uring *ring, bool waits, struct uring_answer *answer)
{
        struct io_uring_cqe *entry;
        const int err = waits ? io_uring_wait_cqe(&ring->uring, &entry) : io_uring_peek_cqe(&ring->uring, &entry);
        if (err)
                return err == -EAGAIN && !waits ? 0 : err;
        *answer = (struct uring_answer){ .id = (uint32_t)io_uring_cqe_get_data64(entry),
                                         .is_done = entry->flags & IORING_CQE_F_NOTIF,
                                         .taken = entry->res,
                                         .will_tell = entry->flags & IORING_CQE_F_MORE };
        answer->was_copied = answer->is_done && (uint32_t)entry->res & IORING_NOTIF_USAGE_ZC_COPIED;
        io_uring_cqe_seen(&ring->uring, entry);
        return 1;
}
