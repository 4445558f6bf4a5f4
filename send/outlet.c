/* SPDX-License-Identifier: MIT */
#include "send/outlet.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* ---- batches ---- */

struct batch *outlet_batch(struct outlet *outlet, size_t room_len)
{
        struct batch *batch = outlet->spare;
        if (!batch || batch->room_len < room_len)
                return batch_new(room_len > BATCH_ROOM ? room_len : BATCH_ROOM);
        outlet->spare = batch->next;
        batch->next = NULL;
        batch_clear(batch);
        return batch;
}

static void put_by(struct outlet *outlet, struct batch *batch)
{
        if (batch->room_len > BATCH_ROOM || (outlet->spare && outlet->spare->next)) {
                batch_free(batch);
                return;
        }
        batch->next = outlet->spare;
        outlet->spare = batch;
}

/* The kernel has no need of it any more. */
static void finish(struct outlet *outlet, struct batch *batch)
{
        for (unsigned i = 0; i < batch->lent_count; i++)
                xac_snapshot_take_back(outlet->snapshot, batch->lent[i]);
        put_by(outlet, batch);
}

/* ---- what is done ---- */

/* How many of its calls are among those numbers, which begin again at 0 after 2^32 - 1. */
static uint32_t in_common(const struct batch *batch, uint32_t first, uint32_t last)
{
        uint32_t common = 0;
        for (uint32_t id = batch->first_id; id != batch->end_id; id++)
                common += id - first <= last - first;
        return common;
}

static void note_done(struct outlet *outlet, uint32_t first, uint32_t last)
{
        if (outlet->current)
                outlet->current->pending -= in_common(outlet->current, first, last);
        for (struct batch **link = &outlet->in_flight; *link;) {
                struct batch *batch = *link;
                batch->pending -= in_common(batch, first, last);
                if (batch->pending) {
                        link = &batch->next;
                        continue;
                }
                *link = batch->next;
                finish(outlet, batch);
        }
}

static void note(struct outlet *outlet, uint32_t first, uint32_t last, bool was_copied)
{
        const uint32_t calls = last - first + 1;
        outlet->done += calls;
        if (was_copied) {
                outlet->done_copied += calls;
                outlet->stats->copied_sends += calls;
        }
        note_done(outlet, first, last);
}

static bool is_news(const struct cmsghdr *part)
{
        return (part->cmsg_level == SOL_IP && part->cmsg_type == IP_RECVERR) ||
               (part->cmsg_level == SOL_IPV6 && part->cmsg_type == IPV6_RECVERR);
}

static void read_news(struct outlet *outlet, const struct cmsghdr *part)
{
        struct sock_extended_err news;
        memcpy(&news, CMSG_DATA(part), sizeof(news));
        if (news.ee_origin == SO_EE_ORIGIN_ZEROCOPY)
                note(outlet, news.ee_info, news.ee_data, news.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
}

/* 1: there was some; 0; -errno. */
static int reap_queue(struct outlet *outlet)
{
        union {
                struct cmsghdr head;
                char bytes[256];
        } control;
        struct msghdr message = { .msg_control = &control, .msg_controllen = sizeof(control) };
        if (recvmsg(outlet->socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part))
                if (is_news(part))
                        read_news(outlet, part);
        return 1;
}

static int reap_ring(struct outlet *outlet)
{
        struct uring_answer answer;
        const int result = uring_next(outlet->ring, false, &answer);
        if (result == 1 && answer.is_done)
                note(outlet, answer.id, answer.id, answer.was_copied);
        return result;
}

int outlet_reap(struct outlet *outlet)
{
        int result = 1;
        while (result == 1 && (outlet->in_flight || (outlet->current && outlet->current->pending)))
                result = outlet->ring ? reap_ring(outlet) : reap_queue(outlet);
        return result < 0 ? result : 0;
}

void outlet_give_up_pages(struct outlet *outlet)
{
        for (struct batch *batch = outlet->in_flight; batch; batch = batch->next)
                batch->lent_count = 0;
        if (outlet->current)
                outlet->current->lent_count = 0;
        outlet->snapshot = NULL;
}

/* ---- sending ---- */

static void note_call(struct outlet *outlet, bool will_tell)
{
        outlet->next_id += will_tell;
        outlet->stats->zerocopy_sends += will_tell;
}

/* The answer of this call may come behind those of others. */
static ssize_t send_by_ring(struct outlet *outlet, const struct msghdr *message)
{
        struct uring_answer answer = { .is_done = true };
        int err = uring_send(outlet->ring, outlet->socket, message, outlet->next_id);
        if (err)
                return err;
        while (answer.is_done) {
                err = uring_next(outlet->ring, true, &answer);
                if (err < 0 && err != -EINTR)
                        return err;
                if (err == 1 && answer.is_done)
                        note(outlet, answer.id, answer.id, answer.was_copied);
        }
        note_call(outlet, answer.will_tell); /* also of one that took nothing */
        return answer.taken;
}

static ssize_t send_by_call(struct outlet *outlet, const struct msghdr *message)
{
        const ssize_t some = sendmsg(outlet->socket, message, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY);
        note_call(outlet, some >= 0);
        return some < 0 ? -errno : some;
}

/* Where too much is under way without copies, it is sent with one. */
static ssize_t send_some(struct outlet *outlet, const struct batch *batch, bool is_zerocopy)
{
        const struct msghdr message = { .msg_iov = (struct iovec *)&batch->pieces[batch->sent],
                                        .msg_iovlen = batch->count - batch->sent };
        ssize_t some = -ENOBUFS;
        if (is_zerocopy)
                some = outlet->ring ? send_by_ring(outlet, &message) : send_by_call(outlet, &message);
        if (some != -ENOBUFS && (some != -ENOMEM || !is_zerocopy))
                return some;
        some = sendmsg(outlet->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        return some < 0 ? -errno : some;
}

/* One call. 0, also if it took only some; -EAGAIN, ... */
static int send_once(struct outlet *outlet, struct batch *batch, bool is_zerocopy)
{
        const unsigned before = batch->sent;
        const uint32_t id = outlet->next_id;
        const ssize_t some = send_some(outlet, batch, is_zerocopy && outlet->has_zerocopy);
        batch->pending += outlet->next_id - id;
        batch->end_id = outlet->next_id;
        if (some < 0)
                return (int)some;
        batch_advance(batch, (size_t)some);
        outlet->stats->sends++;
        outlet->stats->pieces += batch->sent - before;
        outlet->stats->bytes += (uint64_t)some;
        return 0;
}

static void retire(struct outlet *outlet, struct batch *batch)
{
        outlet->current = NULL;
        outlet->stats->packed_bytes += batch->packed;
        if (!batch->pending) {
                finish(outlet, batch);
                return;
        }
        batch->next = outlet->in_flight;
        outlet->in_flight = batch;
}

int outlet_send(struct outlet *outlet, struct batch *batch, bool is_zerocopy)
{
        int err = 0;
        if (outlet->current != batch)
                batch->first_id = batch->end_id = outlet->next_id;
        outlet->current = batch;
        while (!err && !batch_is_sent(batch)) {
                err = send_once(outlet, batch, is_zerocopy);
                if (err == -EINTR)
                        err = 0;
        }
        if (err)
                return err == -EAGAIN ? 0 : err;
        retire(outlet, batch);
        return 1;
}

void outlet_drop(struct outlet *outlet)
{
        struct batch *batch = outlet->current;
        batch->count = batch->sent;
        retire(outlet, batch);
}

/* ---- open and close ---- */

static int check_socket(int socket)
{
        int type;
        socklen_t length = sizeof(type);
        struct sockaddr_storage peer;
        socklen_t peer_len = sizeof(peer);
        if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length))
                return -errno;
        if (type != SOCK_STREAM)
                return -EPROTOTYPE;
        return getpeername(socket, (struct sockaddr *)&peer, &peer_len) ? -errno : 0;
}

int outlet_open(struct outlet *outlet, int socket, bool has_ring, xac_send_stats *stats)
{
        const int yes = 1;
        int err = check_socket(socket);
        if (err)
                return err;
        *outlet = (struct outlet){ .socket = socket, .stats = stats };
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)); /* the end of a response waits for nothing */
        outlet->has_zerocopy = !setsockopt(socket, SOL_SOCKET, SO_ZEROCOPY, &yes, sizeof(yes));
        return has_ring ? uring_open(&outlet->ring) : 0;
}

static void free_all(struct batch *batch)
{
        while (batch) {
                struct batch *next = batch->next;
                batch_free(batch);
                batch = next;
        }
}

void outlet_close(struct outlet *outlet)
{
        outlet_reap(outlet);
        uring_close(outlet->ring);
        free_all(outlet->in_flight);
        free_all(outlet->spare);
        batch_free(outlet->current);
        *outlet = (struct outlet){ .socket = -1 };
}
