/* SPDX-License-Identifier: MIT */

/*
 * xac serve: sends ranges of trees, and pages of files, to whoever asks on a socket (docs/SEND.md). One thread waits
 * for all clients; responses share a few snapshots (serve_moments.h), so that writers are in nobody's way.
 */

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/say.h"
#include "tools/xac/calibration.h"
#include "tools/xac/listen.h"
#include "tools/xac/opening.h"
#include "tools/xac/place.h"
#include "tools/xac/serve_client.h"
#include "tools/xac/tool.h"

const char serve_help[] =
        "Usage: xac serve [OPTION]... DIR SOCKET\n"
        "Sends ranges of the trees in the environment DIR, as of snapshots, to clients that ask for them: 'xac get',\n"
        "or programs with libxacsend. SOCKET is a path, HOST:PORT or [IPV6]:PORT on this machine; PORT 0: any that is\n"
        "free. Whoever can connect can read everything: there is no authentication, and no encryption. Ends on SIGINT "
        "and SIGTERM.\n"
        "\n"
        "  --clients=N         at most so many at once (64)\n"
        "  --deadline-ms=N     a client that has not taken its response by then gets a copy of the rest (10000)\n"
        "  --idle=SECONDS      a client that asks for nothing for so long is closed; 0: never (60)\n"
        "  --rest-total=N      MiB of such copies, and of what is noted of clients, at most; each has an equal share "
        "(256)\n"
        "  --calibration=FILE  sizes of pieces that 'xac send --calibrate' has found\n"
        "  --way=WAY           for requests that leave it open: auto, copy, gather, zerocopy or pages (auto)\n"
        "  --any-address       HOST may be an address that other machines can reach\n"
        "  --force             although root is not DIR's owner, who could not open what root makes in it; or\n"
        "                      although its archive takes nothing, which then lacks what is given up of the log\n"
        "  --verbose           a line for each response, and for each error\n"
        "  --help              this text\n"
        "\n"
        "Exit status: 0 ended by a signal, 1 failed, 2 usage.\n";

enum { CLIENTS_MAX = 1000000, IDLE_S_MAX = 1000000, REST_MIB_MAX = 1 << 24 };

enum {
        QUIET_MS = 100, /* who asks for nothing for so long, */
        STUCK_MS = 500, /* or takes nothing, makes way for others; */
        DEAF_MS = 50,   /* it is looked for so often, */
        TURN_MS = 10,   /* so long, and with so many clients, it gives up a moment; then others come */
        TURN_CLIENTS = 4,
        POOL_LOOK_MS = 10, /* so often it looks whether snapshots fill the pool: */
        POOL_PARTS = 8,    /* all but one of so many */
        REST_LOOK_MS = 50  /* so often it looks whether an environment is at rest again */
};

struct server {
        const char *address;
        uint64_t clients_max, deadline_ms, rest_mib;
        double idle_s;
        bool is_any_address, is_forced;

        struct serve_settings settings;
        struct serve_files files;
        struct serve_moments moments;
        struct serve_moment *ending; /* is being given up; NULL: none */
        uint64_t pool_look_ms;       /* when the pool was looked at */
        struct listener listener;
        int signals, epoll;
        bool is_deaf; /* there is no room for another client: the listener is not watched */
        uint64_t deaf_until_ms;
        struct serve_client *clients;
        uint64_t count, let_in; /* now, and so far */
};

static int last_error(void)
{
        return -errno;
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
        server->deaf_until_ms = now_ms() + DEAF_MS;
        watch(server, EPOLL_CTL_MOD, server->listener.socket, is_listening ? EPOLLIN : 0, server);
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

/* Who has moved nothing for so long that others come first: it asks for nothing, or takes nothing of its response. Of
 * several at the same moment, who came first. NULL: nobody. */
static struct serve_client *longest_idle(const struct server *server, uint64_t now)
{
        struct serve_client *longest = NULL;

        for (struct serve_client *client = server->clients; client; client = client->next) {
                const uint64_t still_ms = serve_client_still_ms(client, now);

                if (still_ms >= (client->is_busy || client->queued ? STUCK_MS : QUIET_MS) &&
                    (!longest || client->moved_ms <= longest->moved_ms))
                        longest = client;
        }
        return longest;
}

/* All places are taken, and somebody waits for one. */
static bool make_way(struct server *server)
{
        struct serve_client *client = longest_idle(server, now_ms());

        if (!client)
                return false;
        serve_client_make_way(client);
        let_go(server, client);
        return true;
}

/* With as many clients as may be, others wait in the listener's queue. */
static void let_in(struct server *server)
{
        if (server->count == server->clients_max && !make_way(server)) {
                listen_again(server, false);
                return;
        }
        const int socket = accept4(server->listener.socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct serve_client *client = socket < 0 ? NULL : serve_client_open(&server->settings, socket, now_ms());

        if (!client) {
                if (socket < 0 && errno != EAGAIN && errno != ECONNABORTED && !(errno == EMFILE && make_way(server)))
                        listen_again(server, false); /* no descriptor, no memory */
                return;
        }
        client->number = ++server->let_in;
        client->next = server->clients;
        server->clients = client;
        server->count++;
        if (watch(server, EPOLL_CTL_ADD, socket, client->events, client))
                let_go(server, client);
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

/* Of whom something is due, while there is a place for a moment. */
static void serve_overdue(struct server *server)
{
        const uint64_t now = now_ms();

        for (struct serve_client *client = server->clients, *next;
             client && !serve_moments_are_all_used(&server->moments); client = next) {
                next = client->next;
                if (client->due_ms <= now)
                        serve_client(server, client, 0);
        }
}

/* ---- moments ---- */

/* Some of its clients: each copies as much as its share, and others come in between. */
static void end_some(struct server *server)
{
        struct serve_moment *moment = server->ending;
        const uint64_t end_ms = now_ms() + TURN_MS;
        unsigned count = 0;

        for (struct serve_client *client = server->clients, *next; client && moment->snapshot; client = next) {
                next = client->next;
                if (!serve_client_is_of(client, moment))
                        continue;
                if (count++ == TURN_CLIENTS || now_ms() >= end_ms)
                        return;
                if (!serve_client_give_up(client, moment))
                        let_go(server, client);
        }
        server->ending = NULL;
}

/* The background thread keeps half of the pool free. Where it can not, snapshots are in its way, or soon will be.
 * Where /dev/shm has no more memory the pool ends there, although it may become larger. */
static bool is_pool_nearly_full(const struct server *server)
{
        xac_stats stats;

        return !xac_stat(server->moments.env, &stats) &&
               stats.pool_bytes_used > stats.pool_bytes_now / POOL_PARTS * (POOL_PARTS - 1);
}

/* When somebody has moved a byte of a response that needs the moment; 0: none does, it is a base of later ones. */
static uint64_t moved_ms(const struct server *server, const struct serve_moment *moment)
{
        uint64_t last_ms = 0;

        for (const struct serve_client *client = server->clients; client; client = client->next)
                if (client->moment && (client->moment == moment || client->base == moment) &&
                    client->moved_ms > last_ms)
                        last_ms = client->moved_ms;
        return last_ms;
}

/* Without its base a client gets a response in full. Of responses, those that nobody takes go first. */
static struct serve_moment *choose_moment(struct server *server)
{
        struct serve_moment *chosen = serve_moments_oldest(&server->moments);

        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++) {
                struct serve_moment *moment = &server->moments.moment[i];

                if (moment->snapshot && moved_ms(server, moment) < moved_ms(server, chosen))
                        chosen = moment;
        }
        return chosen;
}

/* There is a place for another moment soon, none gets too old, and no transaction finds the pool full because of them.
 */
static struct serve_moment *moment_to_end(struct server *server)
{
        struct serve_moment *oldest = serve_moments_oldest(&server->moments);
        const uint64_t now = now_ms();

        if (!oldest || now - oldest->opened_ms >= SERVE_MOMENT_AGE_MS)
                return oldest;
        if (serve_moments_are_all_used(&server->moments))
                return choose_moment(server);
        if (now - server->pool_look_ms < POOL_LOOK_MS)
                return NULL;
        server->pool_look_ms = now;
        return now - oldest->opened_ms >= SERVE_MOMENT_SHARED_MS && is_pool_nearly_full(server) ? oldest : NULL;
}

static void tend_moments(struct server *server)
{
        if (!server->ending || !server->ending->is_ending) { /* its clients may have gone meanwhile */
                server->ending = moment_to_end(server);
                if (server->ending)
                        server->ending->is_ending = true;
        }
        if (server->ending)
                end_some(server);
}

/* ---- the loop ---- */

static int next_timeout(struct server *server)
{
        const uint64_t now = now_ms();
        uint64_t due = server->is_deaf ? server->deaf_until_ms : UINT64_MAX;

        if (server->ending)
                return 0;
        if (serve_moments_oldest(&server->moments) && server->pool_look_ms + POOL_LOOK_MS < due)
                due = server->pool_look_ms + POOL_LOOK_MS;
        for (const struct serve_client *client = server->clients; client; client = client->next)
                due = client->due_ms < due ? client->due_ms : due;
        if (due == UINT64_MAX)
                return -1;
        return due <= now ? 0 : (int)(due - now);
}

/* Until a signal comes, or the environment is another one than was opened (-ESTALE).
 * One event at a time: it may end clients of which there are others. */
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
                tend_moments(server);
                serve_overdue(server);
                tend_moments(server);
                if (server->moments.is_stale)
                        return -ESTALE;
                if (server->is_deaf && now_ms() >= server->deaf_until_ms)
                        listen_again(server, true);
        }
}

/* ---- an environment at rest that somebody has opened for writing ---- */

/* Who opens it would say at each try why that is not possible yet. What cannot be looked at is opened, to hear why. */
static bool is_at_rest(const char *directory)
{
        static struct place place;
        bool is_at_rest;

        if (place_open_with_manifest(&place, directory) != TOOL_DONE)
                return true;
        is_at_rest = place.manifest.is_clean && place.manifest.buffer < 0 && place_is_in_use(&place) <= 0;
        place_close(&place);
        return is_at_rest;
}

/* 1: a signal has come. */
static int wait_for_signal(const struct server *server, int timeout_ms)
{
        struct pollfd signal = { .fd = server->signals, .events = POLLIN };

        return poll(&signal, 1, timeout_ms) > 0;
}

/* Who asks meanwhile waits in the listener's queue. 0, 1: a signal has come, or an error. */
static int open_when_at_rest(struct server *server)
{
        const char *directory = server->settings.directory;
        int err = -EBUSY;

        for (;;) {
                if (is_at_rest(directory))
                        err = xac_open(directory, XAC_RDONLY, NULL, &server->moments.env);
                if (err != -EBUSY && err != -ESTALE) /* somebody may have come meanwhile */
                        return err;
                if (wait_for_signal(server, REST_LOOK_MS))
                        return 1;
        }
}

/* The responses that are on their way are of pages that may be another moment's by now. */
static int open_anew(struct server *server)
{
        int err;

        tool_complain("%s: another process has opened it for writing: going on when that has closed it",
                      server->settings.directory);
        while (server->clients)
                let_go(server, server->clients);
        server->ending = NULL;
        xac_close(server->moments.env);
        server->moments = (struct serve_moments){ .env = NULL };
        err = open_when_at_rest(server);
        if (!err)
                err = serve_files_look(&server->files);
        return err;
}

/* Before there is anything to take away in the end. */
static int block_signals(struct server *server)
{
        sigset_t ends;

        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        sigprocmask(SIG_BLOCK, &ends, NULL);
        signal(SIGPIPE, SIG_IGN); /* who reads what --verbose says may go */
        server->signals = signalfd(-1, &ends, SFD_CLOEXEC);
        return server->signals < 0 ? last_error() : 0;
}

static int prepare(struct server *server)
{
        int err;

        server->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (server->epoll < 0)
                return last_error();
        err = watch(server, EPOLL_CTL_ADD, server->signals, EPOLLIN, &server->signals);
        return err ? err : watch(server, EPOLL_CTL_ADD, server->listener.socket, EPOLLIN, server);
}

/* Each client may have its share of the copies. */
static void settle(struct server *server)
{
        struct serve_settings *settings = &server->settings;
        const uint64_t share = (server->rest_mib << 20) / server->clients_max;

        settings->options.deadline_ms = (uint32_t)server->deadline_ms;
        settings->options.rest_bytes = share ? share : 1;
        settings->idle_ms = (uint64_t)(server->idle_s * 1000);
        if (server->idle_s > 0 && !settings->idle_ms)
                settings->idle_ms = 1;
}

static const char *what_to_do(int err, bool is_path)
{
        if (err == -EACCES && !is_path)
                return " (other machines can reach it: --any-address)";
        if (err == -EADDRINUSE)
                return " (a server is there: end it, or choose another address)";
        if (err == -EEXIST)
                return " (and is no socket: choose another path)";
        if (err == -EBUSY)
                return " (another program has its directory locked)";
        return err == -EINVAL ? " (HOST:PORT, or [ADDRESS]:PORT for IPv6; ports go to 65535)" : "";
}

static enum tool_exit serve(struct server *server)
{
        int err = block_signals(server);

        if (!err)
                err = listener_open(&server->listener, server->address, server->is_any_address);
        if (err) {
                tool_complain("%s: %s%s", server->address, tool_explain(err),
                              what_to_do(err, address_is_path(server->address)));
                return TOOL_FAILED;
        }
        err = prepare(server);
        if (!err) {
                (void)is_pool_nearly_full(server); /* this thread is a participant from here on */
                say(stdout, "serving %s on %s\n", server->settings.directory, server->listener.text);
                fflush(stdout);
                err = serve_all(server);
                while (err == -ESTALE && !(err = open_anew(server)))
                        err = serve_all(server);
        }
        while (server->clients)
                let_go(server, server->clients);
        listener_close(&server->listener);
        if (err < 0)
                tool_complain("%s", tool_explain(err));
        return err < 0 ? TOOL_FAILED : TOOL_DONE;
}

static enum tool_exit serve_files_of(struct server *server)
{
        enum tool_exit result;
        int err = serve_files_open(&server->files, server->settings.directory);

        if (err) {
                tool_complain("%s/" MANIFEST_NAME ": %s", server->settings.directory, tool_explain(err));
                return TOOL_FAILED;
        }
        server->settings.moments = &server->moments;
        server->settings.files = &server->files;
        result = serve(server);
        serve_files_close(&server->files);
        return result;
}

static enum tool_exit open_and_serve(struct server *server)
{
        enum tool_exit result;
        const char *calibration = server->settings.calibration;
        int err = calibration ? calibration_check(calibration) : 0;

        if (err) {
                tool_complain("%s: %s (xac send --calibrate makes it)", calibration, tool_explain(err));
                return TOOL_FAILED;
        }
        const struct opening opening = { .path = server->settings.directory,
                                         .stays = true,
                                         .command = "serve",
                                         .is_forced = server->is_forced,
                                         .may_adopt = true };
        if (opening_open(&opening, &server->moments.env) != TOOL_DONE)
                return TOOL_FAILED;
        result = serve_files_of(server);
        err = server->moments.env ? xac_close(server->moments.env) : 0;
        if (err)
                tool_complain("%s: closing it: %s", server->settings.directory, tool_explain(err));
        return err ? TOOL_FAILED : result;
}

static bool take_option(struct server *server, int option, const char *value)
{
        switch (option) {
        case 'c':
                return tool_count_option(value, "--clients", CLIENTS_MAX, &server->clients_max);
        case 'd':
                return tool_count_option(value, "--deadline-ms", INT32_MAX, &server->deadline_ms);
        case 'i':
                return tool_seconds(value, "--idle", 0, IDLE_S_MAX, &server->idle_s);
        case 'r':
                return tool_count_option(value, "--rest-total", REST_MIB_MAX, &server->rest_mib);
        case 'f':
                server->settings.calibration = value;
                return true;
        case 'w':
                return (server->settings.way = tool_way(value)) >= 0;
        case 'a':
                return server->is_any_address = true;
        case 'o':
                return server->is_forced = true;
        case 'v':
                return server->settings.is_verbose = true;
        default:
                return false;
        }
}

enum tool_exit serve_main(int argc, char **argv)
{
        static const struct option known[] = { { "clients", required_argument, NULL, 'c' },
                                               { "deadline-ms", required_argument, NULL, 'd' },
                                               { "idle", required_argument, NULL, 'i' },
                                               { "rest-total", required_argument, NULL, 'r' },
                                               { "calibration", required_argument, NULL, 'f' },
                                               { "way", required_argument, NULL, 'w' },
                                               { "any-address", no_argument, NULL, 'a' },
                                               { "force", no_argument, NULL, 'o' },
                                               { "verbose", no_argument, NULL, 'v' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        struct server server = { .clients_max = 64, .deadline_ms = 10000, .idle_s = 60, .rest_mib = 256 };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'h') {
                        fputs(serve_help, stdout);
                        return TOOL_DONE;
                }
                if (!take_option(&server, option, optarg))
                        return tool_usage("serve");
        }
        if (argc - optind != 2) {
                tool_complain("an environment's directory and a socket, please");
                return tool_usage("serve");
        }
        server.settings.directory = argv[optind];
        server.address = argv[optind + 1];
        settle(&server);
        return open_and_serve(&server);
}
