/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SEND_CHANNEL_H
#define BENCH_SEND_CHANNEL_H

/*
 * Two ends of a connection, and a process at the far one.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum channel_kind {
        CHANNEL_UNIX,
        CHANNEL_TCP,  /* over loopback */
        CHANNEL_VETH, /* TCP, each end in a network namespace of its own (veth.h) */
        CHANNEL_KINDS
};

extern const char *const channel_names[CHANNEL_KINDS];

/* Whether there can be such ones here; says on standard output why not. */
bool channel_is_possible(enum channel_kind kind);

enum channel_place {
        CHANNEL_APART, /* this process on the first processor, the client on the second */
        CHANNEL_STAY   /* both where this one may run now */
};

struct channel {
        int near;
        pid_t client;
        int told; /* a pipe from it */
};

/* What the client does with its end, and what it has to tell afterwards, in as many bytes as are agreed. */
typedef void client_fn(int socket, void *arg, void *told, size_t told_len);

/* Forks it. It dies with this process. */
void channel_open(struct channel *channel, enum channel_kind kind, enum channel_place place, client_fn *client,
                  void *arg, size_t told_len);
/* Ends the connection, and waits for what the client tells. */
void channel_close(struct channel *channel, void *told, size_t told_len);

/* A client that reads everything, and looks at nothing. Tells nothing, but counts in `taken`, shared memory or NULL. */
struct client_count {
        _Atomic uint64_t bytes;
};
void client_drain(int socket, void *taken, void *told, size_t told_len);

/* Processor time of this thread. */
uint64_t channel_processor_ns(void);

#endif
