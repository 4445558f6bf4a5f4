/* SPDX-License-Identifier: MIT */
#include "send/range.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/*
 * From a socket. Large pieces are read to where they stay, all else into one place in between, many frames at a time.
 * The socket may go on with something else behind the response: where it could end among the bytes that are there, they
 * are looked at first, and those that belong to it are read then.
 */

enum { STAGED_BYTES = 131072, DIRECT_MIN = 32768, PEEK_BELOW = 1024 };

/* At least one byte. */
static int receive(int socket, void *bytes, size_t room, int flags, size_t *byte_len)
{
        ssize_t received;
        do {
                received = recv(socket, bytes, room, flags);
        } while (received < 0 && errno == EINTR);
        if (received < 0)
                return -errno;
        *byte_len = (size_t)received;
        return received ? 0 : -ECONNRESET;
}

/* Bytes that were looked at, and are there. */
static int remove_seen(struct xac_range *range, int socket, size_t byte_len)
{
        size_t some = 0;
        int err = 0;
        for (; !err && byte_len; byte_len -= err ? 0 : some)
                err = receive(socket, range->staged, byte_len, 0, &some);
        return err;
}

/* What is certain is read at once if that is worth a call; or else more is looked at. */
static int receive_staged(struct xac_range *range, int socket)
{
        const uint64_t certain = range_certain(range);
        const bool is_peek = certain < PEEK_BELOW;
        const size_t room = is_peek || certain > STAGED_BYTES ? STAGED_BYTES : (size_t)certain;
        size_t byte_len = 0, used;
        int err = receive(socket, range->staged, room, is_peek ? MSG_PEEK : 0, &byte_len);
        if (err)
                return err;
        const int outcome = xac_range_take(range, range->staged, byte_len, &used);
        err = is_peek ? remove_seen(range, socket, used) : 0;
        return err ? err : outcome;
}

static int receive_some(struct xac_range *range, int socket)
{
        unsigned char *at;
        size_t room, byte_len = 0;
        int err = range_room(range, &at, &room);
        if (err)
                return err;
        if (room < DIRECT_MIN)
                return receive_staged(range, socket);
        err = receive(socket, at, room, 0, &byte_len);
        return err ? err : range_filled(range, byte_len);
}

int xac_range_receive(xac_range *range, int socket)
{
        int outcome = 0;
        if (!range)
                return -EINVAL;
        if (!range->staged && !(range->staged = malloc(STAGED_BYTES)))
                outcome = -ENOMEM;
        while (!outcome)
                outcome = receive_some(range, socket);
        if (outcome < 0)
                range_clear(range);
        return outcome < 0 ? outcome : 0;
}
