/* SPDX-License-Identifier: MIT */
#include "tools/xac/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/xac/address.h"

enum { SECOND_NS = 1000000000 };

static uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

int peer_open(struct peer *peer, const char *address, double silence, double most)
{
        const uint64_t now = now_ns();

        *peer = (struct peer){ .silence_ns = (uint64_t)(silence * SECOND_NS), .end_ns = UINT64_MAX };
        if (most > 0)
                peer->end_ns = now + (uint64_t)(most * SECOND_NS);
        peer->socket = address_connect(address, most > 0 && most < silence ? most : silence);
        if (peer->socket == -EAGAIN)
                return -ETIMEDOUT; /* as a socket says it */
        return peer->socket < 0 ? peer->socket : 0;
}

void peer_close(const struct peer *peer)
{
        close(peer->socket);
}

static void begin_silence(struct peer *peer)
{
        peer->waited_ns = 0;
        peer->come = 0;
}

static uint64_t left_ns(const struct peer *peer, uint64_t now)
{
        const uint64_t of_silence = peer->waited_ns < peer->silence_ns ? peer->silence_ns - peer->waited_ns : 0;
        const uint64_t of_all = peer->end_ns == UINT64_MAX ? UINT64_MAX : now < peer->end_ns ? peer->end_ns - now : 0;

        return of_silence < of_all ? of_silence : of_all;
}

/* Until poll(2) says something. */
static int wait_for(struct peer *peer, short events)
{
        struct pollfd wanted = { .fd = peer->socket, .events = events };
        const uint64_t begin = now_ns(), left = left_ns(peer, begin);
        const struct timespec most = { .tv_sec = (time_t)(left / SECOND_NS), .tv_nsec = (long)(left % SECOND_NS) };

        if (!left)
                return -ETIMEDOUT;
        if (ppoll(&wanted, 1, &most, NULL) < 0 && errno != EINTR)
                return -errno;
        peer->waited_ns += now_ns() - begin;
        return 0;
}

/* What a call that may not wait says: 0, call it again. */
static int go_on(struct peer *peer, short events)
{
        if (errno == EINTR)
                return 0;
        return errno == EAGAIN ? wait_for(peer, events) : -errno;
}

int peer_ask(struct peer *peer, const void *bytes, size_t byte_len)
{
        int err = 0;

        begin_silence(peer);
        for (size_t sent = 0; !err && sent < byte_len;) {
                const ssize_t some =
                        send(peer->socket, (const char *)bytes + sent, byte_len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (some < 0)
                        err = go_on(peer, POLLOUT);
                else
                        sent += (size_t)some;
        }
        begin_silence(peer);
        return err;
}

static bool is_over(const struct peer *peer)
{
        return peer->end_ns != UINT64_MAX && now_ns() >= peer->end_ns;
}

int peer_read(struct peer *peer, void *bytes, size_t room, size_t *byte_len)
{
        ssize_t some;

        if (is_over(peer)) /* also while there is always something to read */
                return -ETIMEDOUT;
        while ((some = recv(peer->socket, bytes, room, MSG_DONTWAIT)) < 0) {
                int err = go_on(peer, POLLIN);

                if (err)
                        return err;
        }
        if (!some)
                return -ECONNRESET;
        peer->come += (size_t)some;
        if (peer->come >= PEER_ENOUGH)
                begin_silence(peer);
        *byte_len = (size_t)some;
        return 0;
}

int peer_read_all(struct peer *peer, void *bytes, size_t byte_len)
{
        size_t some = 0;
        int err = 0;

        for (size_t done = 0; !err && done < byte_len; done += err ? 0 : some)
                err = peer_read(peer, (char *)bytes + done, byte_len - done, &some);
        return err;
}
