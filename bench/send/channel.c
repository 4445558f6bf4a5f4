/* SPDX-License-Identifier: MIT */
#include "bench/send/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/support/processor.h"
#include "bench/support/scratch.h"

enum { TOLD_MAX = 256, DRAIN_BYTES = 1 << 20 };

const char *const channel_names[CHANNEL_KINDS] = { "Unix", "TCP" };

static void must_do(int outcome, const char *what)
{
        must(outcome < 0 ? -errno : 0, what);
}

static void connect_tcp(int sockets[2])
{
        const struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address;
        socklen_t length = sizeof(address);

        must_do(bind(listener, (const struct sockaddr *)&any, sizeof(any)), "bind");
        must_do(listen(listener, 1), "listen");
        must_do(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
        sockets[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must_do(connect(sockets[1], (const struct sockaddr *)&address, length), "connect");
        sockets[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        must_do(sockets[0], "accept");
        close(listener);
}

static _Noreturn void be_client(int socket, int told, client_fn *client, void *arg, size_t told_len)
{
        char bytes[TOLD_MAX] = { 0 };

        processor_pin(1);
        client(socket, arg, bytes, told_len);
        _exit(told_len && write(told, bytes, told_len) != (ssize_t)told_len);
}

void channel_open(struct channel *channel, enum channel_kind kind, client_fn *client, void *arg, size_t told_len)
{
        int sockets[2], told[2];

        if (kind == CHANNEL_UNIX)
                must_do(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), "socketpair");
        else
                connect_tcp(sockets);
        must_do(pipe(told), "pipe");
        channel->client = fork();
        must_do(channel->client, "fork");
        if (!channel->client) {
                close(sockets[0]);
                close(told[0]);
                be_client(sockets[1], told[1], client, arg, told_len);
        }
        close(sockets[1]);
        close(told[1]);
        channel->near = sockets[0];
        channel->told = told[0];
        processor_pin(0);
}

void channel_close(struct channel *channel, void *told, size_t told_len)
{
        int status = 0;

        must_do(shutdown(channel->near, SHUT_WR), "shutdown");
        if (told_len && read(channel->told, told, told_len) != (ssize_t)told_len)
                scratch_fail(-EPROTO, "client");
        must_do(waitpid(channel->client, &status, 0), "waitpid");
        must(status ? -EPROTO : 0, "client");
        close(channel->near);
        close(channel->told);
}

void client_drain(int socket, void *arg, void *told, size_t told_len)
{
        char *bytes = malloc(DRAIN_BYTES);

        (void)arg;
        (void)told;
        (void)told_len;
        must(bytes ? 0 : -ENOMEM, "memory");
        while (read(socket, bytes, DRAIN_BYTES) > 0)
                ;
        free(bytes);
}

uint64_t channel_processor_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
