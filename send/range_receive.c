/* SPDX-License-Identifier: MIT */
#include "send/range.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/*
 * From a socket. Large pieces are read to where they stay, all else into one place in between, many frames at a time;
 * never more than certainly belongs to this response, as the socket may go on with something else.
 */

enum { STAGED_BYTES = 131072, DIRECT_MIN = 32768 };

/* At least one byte. */
static int receive(int socket, void *bytes, size_t room, size_t *byte_len)
{
        ssize_t received;
        do {
                received = recv(socket, bytes, room, 0);
        } while (received < 0 && errno == EINTR);
        if (received < 0)
                return -errno;
        *byte_len = (size_t)received;
        return received ? 0 : -ECONNRESET;
}

static int receive_staged(struct xac_range *range, int socket)
{
        const uint64_t certain = range_certain(range);
        const size_t room = certain < STAGED_BYTES ? (size_t)certain : STAGED_BYTES;
        size_t byte_len = 0, used;
        int err = receive(socket, range->staged, room, &byte_len);
        return err ? err : xac_range_take(range, range->staged, byte_len, &used);
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
        err = receive(socket, at, room, &byte_len);
        return err ? err : range_filled(range, byte_len);
}

int xac_range_receive(xac_range *range, int socket)
{
        int outcome = 0;
        if (!range->staged && !(range->staged = malloc(STAGED_BYTES)))
                outcome = -ENOMEM;
        while (!outcome)
                outcome = receive_some(range, socket);
        if (outcome < 0)
                range_clear(range);
        return outcome < 0 ? outcome : 0;
}
