/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_PEER_H
#define TOOLS_XAC_PEER_H

/*
 * The connection to a server that nobody trusts: how long it may take. Only time in which this side waits for the other
 * one counts as silence: who reads what `xac get` prints may be slow. A byte now and then is silence, too.
 */

#include <stddef.h>
#include <stdint.h>

enum { PEER_ENOUGH = 1024 /* bytes that end a silence */ };

struct peer {
        int socket;
        uint64_t silence_ns; /* so long may it be silent */
        uint64_t end_ns;     /* when all is over, on CLOCK_MONOTONIC; UINT64_MAX: never */
        uint64_t waited_ns;  /* in this silence */
        size_t come;         /* bytes of it */
};

/* Connects: that takes `silence` seconds at most, and all together `most`, if that is not 0. 0, or what
 * address_connect() says. */
int peer_open(struct peer *peer, const char *address, double silence, double most);
void peer_close(const struct peer *peer);

/* Each is -ETIMEDOUT, -ECONNRESET when the other side ends, or an error of send(2) or recv(2). */

/* All of them. A silence begins. */
int peer_ask(struct peer *peer, const void *bytes, size_t byte_len);
/* One byte at least, and `room` of them at most. */
int peer_read(struct peer *peer, void *bytes, size_t room, size_t *byte_len);
/* So many bytes. */
int peer_read_all(struct peer *peer, void *bytes, size_t byte_len);

#endif
