/* SPDX-License-Identifier: MIT */

/*
 * xac serve: sends ranges of trees, and pages of files, to whoever asks on a socket (docs/SEND.md). One thread waits
 * for all clients; each response has a snapshot of its own, so that writers are in nobody's way.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tools/xac/serve_client.h"
#include "tools/xac/tool.h"

const char serve_help[] =
        "Usage: xac serve [OPTION]... DIR SOCKET\n"
        "Sends ranges of the trees in the environment DIR, as of snapshots, to clients that ask for them: 'xac get',\n"
        "or programs with libxacsend. SOCKET is a path, or HOST:PORT on this machine. Whoever can connect can read\n"
        "everything: there is no authentication, and no encryption. Ends on SIGINT and SIGTERM.\n"
        "\n"
        "  --clients=N        at most so many at once (64)\n"
        "  --deadline-ms=N    a client that has not taken its response by then gets a copy of the rest (10000)\n"
        "  --calibration=FILE\n"
        "                     sizes of pieces that 'xac send --calibrate' has found\n"
        "  --way=WAY          for requests that leave it open: auto, copy, gather, zerocopy or pages (auto)\n"
        "  --any-address      HOST may be an address that other machines can reach\n"
        "  --verbose          a line for each response\n"
        "  --help             this text\n"
        "\n"
        "Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

struct server {
        const char *directory, *address, *calibration;
        uint64_t clients_max, deadline_ms;
        int way;
        bool is_any_address, is_verbose;

        xac_env *env;
        int listener, signals, epoll;
        bool is_deaf; /* there is no room for another client: the listener is not watched */
        struct serve_client *clients;
        uint64_t count;
};

static int last_error(void)
{
        return -errno;
}

/* ---- where it listens ---- */

static bool is_path(const char *address)
{
        return strchr(address, '/') || !strchr(address, ':');
}

static int listen_at(int family, const struct sockaddr *address, socklen_t length, int *listener)
{
        const int yes = 1;
        int err = 0;

        *listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (*listener < 0)
                return last_error();
        setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        if (bind(*listener, address, length) || listen(*listener, SOMAXCONN)) {
                err = last_error();
                close(*listener);
        }
        return err;
}

/* Only the user may connect: the socket is made without rights for others. */
static int listen_on_path(const char *path, int *listener)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        mode_t before;
        int err;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        before = umask(0077);
        err = listen_at(AF_UNIX, (const struct sockaddr *)&address, sizeof(address), listener);
        umask(before);
        return err;
}

static bool is_loopback(const struct sockaddr *address)
{
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

        if (address->sa_family == AF_INET)
                return ntohl(four->sin_addr.s_addr) >> 24 == 127;
        return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int listen_on_port(const struct server *server, int *listener)
{
        const struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
        const char *colon = strrchr(server->address, ':');
        char *host = strndup(server->address, (size_t)(colon - server->address));
        struct addrinfo *found = NULL;
        int err = host && !getaddrinfo(host, colon + 1, &wanted, &found) ? 0 : -EADDRNOTAVAIL;

        if (!err && !server->is_any_address && !is_loopback(found->ai_addr))
                err = -EACCES;
        if (!err)
                err = listen_at(found->ai_family, found->ai_addr, found->ai_addrlen, listener);
        if (found)
                freeaddrinfo(found);
        free(host);
        return err;
}

/* ---- clients ---- */

static uint64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int watch(const struct server *server, int operation, int fd, int events, void *what)
{
        struct epoll_event event = { .events = (uint32_t)events, .data.ptr = what };

        return epoll_ctl(server->epoll, operation, fd, &event) ? last_error() : 0;
}

static void listen_again(struct server *server, bool is_listening)
{
        server->is_deaf = !is_listening;
        watch(server, EPOLL_CTL_MOD, server->listener, is_listening ? EPOLLIN : 0, server);
}

static void let_go(struct server *server, struct serve_client *client)
{
        struct serve_client **link = &server->clients;

        while (*link != client)
                link = &(*link)->next;
        *link = client->next;
        server->count--;
        serve_client_close(client);
        if (server->is_deaf)
                listen_again(server, true);
}

/* With as many clients as may be, others wait in the listener's queue. */
static void let_in(struct server *server)
{
        xac_send_options options = { .deadline_ms = (uint32_t)server->deadline_ms };
        const int socket = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (socket >= 0 && server->calibration)
                xac_send_options_read(server->calibration, socket, &options); /* it was sound when the server began */
        struct serve_client *client = socket < 0 ? NULL : serve_client_open(server->env, socket, &options);

        if (!client) {
                if (socket < 0 && server->count && errno != EAGAIN && errno != ECONNABORTED)
                        listen_again(server, false); /* no descriptor, no memory: until one leaves */
                return;
        }
        client->way = server->way;
        client->is_verbose = server->is_verbose;
        client->next = server->clients;
        server->clients = client;
        server->count++;
        if (watch(server, EPOLL_CTL_ADD, socket, client->events, client))
                let_go(server, client);
        else if (server->count == server->clients_max)
                listen_again(server, false);
}

/* poll(2)'s events are epoll's. What hangs up while it has nothing to say is gone. */
static void serve_client(struct server *server, struct serve_client *client, unsigned events)
{
        const int before = client->events;
        bool goes_on = serve_client_go(client, now_ms(), events & (EPOLLIN | EPOLLHUP));

        if (goes_on && events & EPOLLHUP && client->is_busy && !(client->events & POLLOUT))
                goes_on = false;
        if (goes_on && client->events != before)
                goes_on = !watch(server, EPOLL_CTL_MOD, client->socket, client->events, client);
        if (!goes_on)
                let_go(server, client);
}

/* Of whom something is due. */
static void serve_overdue(struct server *server)
{
        const uint64_t now = now_ms();

        for (struct serve_client *client = server->clients, *next; client; client = next) {
                next = client->next;
                if (client->due_ms <= now)
                        serve_client(server, client, 0);
        }
}

static int next_timeout(const struct server *server)
{
        const uint64_t now = now_ms();
        uint64_t due = UINT64_MAX;

        for (const struct serve_client *client = server->clients; client; client = client->next)
                due = client->due_ms < due ? client->due_ms : due;
        if (due == UINT64_MAX)
                return -1;
        return due <= now ? 0 : (int)(due - now);
}

/* ---- the loop ---- */

/* One event at a time: it may end clients of which there are others. */
static int serve_all(struct server *server)
{
        for (;;) {
                struct epoll_event event;
                const int count = epoll_wait(server->epoll, &event, 1, next_timeout(server));

                if (count < 0 && errno != EINTR)
                        return last_error();
                if (count > 0 && event.data.ptr == &server->signals)
                        return 0;
                if (count > 0 && event.data.ptr == server)
                        let_in(server);
                else if (count > 0)
                        serve_client(server, event.data.ptr, event.events);
                serve_overdue(server);
        }
}

static int prepare(struct server *server)
{
        sigset_t ends;
        int err;

        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        sigprocmask(SIG_BLOCK, &ends, NULL);
        signal(SIGPIPE, SIG_IGN); /* who reads what --verbose says may go */
        server->signals = signalfd(-1, &ends, SFD_CLOEXEC);
        server->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (server->signals < 0 || server->epoll < 0)
                return last_error();
        err = watch(server, EPOLL_CTL_ADD, server->signals, EPOLLIN, &server->signals);
        return err ? err : watch(server, EPOLL_CTL_ADD, server->listener, EPOLLIN, server);
}

static enum tool_exit serve(struct server *server)
{
        int err = is_path(server->address) ? listen_on_path(server->address, &server->listener)
                                           : listen_on_port(server, &server->listener);

        if (err) {
                tool_complain("%s: %s%s", server->address, tool_explain(err),
                              err == -EACCES && !is_path(server->address)
                                      ? " (other machines can reach it: --any-address)"
                                      : "");
                return TOOL_FAILED;
        }
        err = prepare(server);
        if (!err) {
                printf("serving %s on %s\n", server->directory, server->address);
                fflush(stdout);
                err = serve_all(server);
        }
        while (server->clients)
                let_go(server, server->clients);
        close(server->listener);
        if (is_path(server->address))
                unlink(server->address);
        if (err)
                tool_complain("%s", tool_explain(err));
        return err ? TOOL_FAILED : TOOL_DONE;
}

/* Each client's socket has its line in it, or none; any socket tells whether the file is sound. */
static int check_calibration(const char *path)
{
        xac_send_options options = { .flags = 0 };
        int sockets[2];
        int err = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ? last_error() : 0;

        if (err)
                return err;
        err = xac_send_options_read(path, sockets[0], &options);
        close(sockets[0]);
        close(sockets[1]);
        return err;
}

static enum tool_exit open_and_serve(struct server *server)
{
        enum tool_exit result;
        int err = server->calibration ? check_calibration(server->calibration) : 0;

        if (err) {
                tool_complain("%s: %s (xac send --calibrate makes it)", server->calibration, tool_explain(err));
                return TOOL_FAILED;
        }
        err = xac_open(server->directory, 0, NULL, &server->env);

        if (err) {
                tool_complain("%s: %s", server->directory, tool_explain(err));
                return TOOL_FAILED;
        }
        result = serve(server);
        xac_close(server->env);
        return result;
}

enum tool_exit serve_main(int argc, char **argv)
{
        static const struct option known[] = { { "clients", required_argument, NULL, 'c' },
                                               { "deadline-ms", required_argument, NULL, 'd' },
                                               { "calibration", required_argument, NULL, 'f' },
                                               { "way", required_argument, NULL, 'w' },
                                               { "any-address", no_argument, NULL, 'a' },
                                               { "verbose", no_argument, NULL, 'v' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        struct server server = { .clients_max = 64, .deadline_ms = 10000 };
        bool is_right = true;
        int option;

        while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
                if (option == 'c')
                        is_right = tool_number(optarg, "--clients", &server.clients_max) && server.clients_max;
                else if (option == 'd')
                        is_right = tool_number(optarg, "--deadline-ms", &server.deadline_ms) &&
                                   server.deadline_ms < INT32_MAX;
                else if (option == 'w')
                        is_right = (server.way = tool_way(optarg)) >= 0;
                else if (option == 'f')
                        server.calibration = optarg;
                else if (option == 'a')
                        server.is_any_address = true;
                else if (option == 'v')
                        server.is_verbose = true;
                else if (option != 'h')
                        is_right = false;
                if (!is_right)
                        return tool_usage("serve");
                if (option == 'h') {
                        fputs(serve_help, stdout);
                        return TOOL_DONE;
                }
        }
        if (argc - optind != 2) {
                tool_complain("an environment's directory and a socket, please");
                return tool_usage("serve");
        }
        server.directory = argv[optind];
        server.address = argv[optind + 1];
        return open_and_serve(&server);
}
