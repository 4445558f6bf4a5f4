/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SEND_CHANNEL_H
#define BENCH_SEND_CHANNEL_H

/*
 * Two ends of a connection, and a process at the far one.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum channel_kind { CHANNEL_UNIX, CHANNEL_TCP, CHANNEL_KINDS };

extern const char *const channel_names[CHANNEL_KINDS];

struct channel {
        int near;
        pid_t client;
        int told; /* a pipe from it */
};

/* What the client does with its end, and what it has to tell afterwards, in as many bytes as are agreed. */
typedef void client_fn(int socket, void *arg, void *told, size_t told_len);

/* Forks it, on the second processor; this process stays on the first. */
void channel_open(struct channel *channel, enum channel_kind kind, client_fn *client, void *arg, size_t told_len);
/* Ends the connection, and waits for what the client tells. */
void channel_close(struct channel *channel, void *told, size_t told_len);

/* A client that reads everything, and looks at nothing. Tells nothing. */
void client_drain(int socket, void *arg, void *told, size_t told_len);

/* Processor time of this thread. */
uint64_t channel_processor_ns(void);

#endif
