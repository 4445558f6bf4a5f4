/* SPDX-License-Identifier: MIT */
#include "send/outlet.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
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

static bool is_news(const struct cmsghdr *part)
{
        return (part->cmsg_level == SOL_IP && part->cmsg_type == IP_RECVERR) ||
               (part->cmsg_level == SOL_IPV6 && part->cmsg_type == IPV6_RECVERR);
}

static void read_news(struct outlet *outlet, const struct cmsghdr *part)
{
        struct sock_extended_err news;
        memcpy(&news, CMSG_DATA(part), sizeof(news));
        if (news.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
                return;
        const uint32_t calls = news.ee_data - news.ee_info + 1;
        outlet->done += calls;
        if (news.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) {
                outlet->done_copied += calls;
                outlet->stats->copied_sends += calls;
        }
        note_done(outlet, news.ee_info, news.ee_data);
}

int outlet_reap(struct outlet *outlet)
{
        while (outlet->in_flight || (outlet->current && outlet->current->pending)) {
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
        }
        return 0;
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

/* ENOBUFS: too much is under way without copies. */
static ssize_t send_some(struct outlet *outlet, const struct batch *batch, bool is_zerocopy)
{
        const struct msghdr message = { .msg_iov = (struct iovec *)&batch->pieces[batch->sent],
                                        .msg_iovlen = batch->count - batch->sent };
        ssize_t some = -1;
        if (is_zerocopy)
                some = sendmsg(outlet->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY);
        if (some >= 0) {
                outlet->next_id++;
                outlet->stats->zerocopy_sends++;
        } else if (!is_zerocopy || errno == ENOBUFS) {
                some = sendmsg(outlet->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
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

int outlet_open(struct outlet *outlet, int socket, xac_send_stats *stats)
{
        const int yes = 1;
        int err = check_socket(socket);
        if (err)
                return err;
        *outlet = (struct outlet){ .socket = socket, .stats = stats };
        outlet->has_zerocopy = !setsockopt(socket, SOL_SOCKET, SO_ZEROCOPY, &yes, sizeof(yes));
        return 0;
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
        free_all(outlet->in_flight);
        free_all(outlet->spare);
        batch_free(outlet->current);
        *outlet = (struct outlet){ .socket = -1 };
}
