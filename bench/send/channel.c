/* SPDX-License-Identifier: MIT */
#include "bench/send/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/send/veth.h"
#include "bench/support/processor.h"
#include "bench/support/scratch.h"

enum { TOLD_MAX = 256, DRAIN_BYTES = 1 << 20 };

const char *const channel_names[CHANNEL_KINDS] = { "Unix", "TCP", "veth" };

static void must_do(int outcome, const char *what)
{
        must(outcome < 0 ? -errno : 0, what);
}

bool channel_is_possible(enum channel_kind kind)
{
        static bool is_told;
        const int err = kind == CHANNEL_VETH ? veth_open() : 0;

        if (err && !is_told)
                printf("veth is left out: no namespaces with it (%s); root may make them, and who calls unshare -r\n",
                       strerror(-err));
        is_told = is_told || err;
        return !err;
}

/* ---- connections ---- */

struct meeting {
        struct sockaddr_in address;
        int listener, caller;
};

static void listen_there(void *meeting_)
{
        struct meeting *meeting = meeting_;
        struct sockaddr *address = (struct sockaddr *)&meeting->address;
        socklen_t length = sizeof(meeting->address);

        meeting->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must_do(meeting->listener, "socket");
        must_do(bind(meeting->listener, address, length), "bind");
        must_do(listen(meeting->listener, 1), "listen");
        must_do(getsockname(meeting->listener, address, &length), "getsockname");
}

static void call(void *meeting_)
{
        struct meeting *meeting = meeting_;

        meeting->caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must_do(meeting->caller, "socket");
        must_do(connect(meeting->caller, (const struct sockaddr *)&meeting->address, sizeof(meeting->address)),
                "connect");
}

/* The end of a response waits for no acknowledgement of what came before it. */
static void connect_tcp(bool is_veth, int sockets[2])
{
        struct meeting meeting = { .address.sin_family = AF_INET };
        const int yes = 1;

        if (is_veth) {
                must(veth_open(), "veth_open");
                meeting.address.sin_addr = veth_address(VETH_NEAR);
                veth_run(VETH_NEAR, listen_there, &meeting);
                veth_run(VETH_FAR, call, &meeting);
        } else {
                meeting.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                listen_there(&meeting);
                call(&meeting);
        }
        sockets[1] = meeting.caller;
        sockets[0] = accept4(meeting.listener, NULL, NULL, SOCK_CLOEXEC);
        must_do(sockets[0], "accept");
        close(meeting.listener);
        for (int i = 0; i < 2; i++)
                must_do(setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)), "TCP_NODELAY");
}

/* ---- clients ---- */

static _Noreturn void be_client(int socket, int told, client_fn *client, void *arg, size_t told_len)
{
        char bytes[TOLD_MAX] = { 0 };

        client(socket, arg, bytes, told_len);
        _exit(told_len && write(told, bytes, told_len) != (ssize_t)told_len);
}

void channel_open(struct channel *channel, enum channel_kind kind, enum channel_place place, client_fn *client,
                  void *arg, size_t told_len)
{
        int sockets[2], told[2];

        if (kind == CHANNEL_UNIX)
                must_do(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), "socketpair");
        else
                connect_tcp(kind == CHANNEL_VETH, sockets);
        must_do(pipe(told), "pipe");
        channel->client = fork();
        must_do(channel->client, "fork");
        if (!channel->client) {
                if (place == CHANNEL_APART)
                        processor_pin(1);
                must_do(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
                close(sockets[0]);
                close(told[0]);
                be_client(sockets[1], told[1], client, arg, told_len);
        }
        close(sockets[1]);
        close(told[1]);
        channel->near = sockets[0];
        channel->told = told[0];
        if (place == CHANNEL_APART)
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

void client_drain(int socket, void *taken, void *told, size_t told_len)
{
        struct client_count *count = taken;
        char *bytes = malloc(DRAIN_BYTES);

        (void)told;
        (void)told_len;
        must(bytes ? 0 : -ENOMEM, "memory");
        for (ssize_t some; (some = read(socket, bytes, DRAIN_BYTES)) > 0;)
                if (count)
                        atomic_fetch_add_explicit(&count->bytes, (uint64_t)some, memory_order_relaxed);
        free(bytes);
}

uint64_t channel_processor_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
