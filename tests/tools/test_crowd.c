/* SPDX-License-Identifier: MIT */

/*
 * xac serve beside clients that mean no good. 64 never read their responses, 64 read a byte a second, each comes back
 * when it is closed; 1,000 come, ask for little, and go. The transactions of a writer find room in the pool, and an
 * honest client is served.
 *
 * Prints the writer's commits a second without and with them, and the longest wait of the honest client. CROWD_SECONDS
 * is how long each phase takes, and then the pool is as large as it is without options; else 2, and the pool is small.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <xac/send.h>

#include "tests/support/chance.h"
#include "tests/support/leeway.h"
#include "tests/tools/tool.h"

enum {
        RECORDS = 40000, /* of 1 kB: no socket takes all of them */
        VALUE_BYTES = 1000,
        PAGES = 65536, /* that the writer changes: more than half of the pool */
        POOL_BYTES = 448 << 20,
        NEVER = 64,
        SLOW = 64,
        GUESTS = 1000,
        GUESTS_PAUSE_MS = 2000, /* between two visits */
        PHASES = 4
};

/* Of all processes. */
static struct shared {
        uint64_t pool_bytes; /* 0: as many as there are without it */
        _Atomic int phase;   /* odd: the crowd is there; -1: all is over */
        _Atomic uint64_t commits[PHASES];
        _Atomic uint64_t full[PHASES];
        _Atomic uint64_t served, longest_ms; /* the honest client */
        _Atomic uint64_t visits, returns;    /* of guests; of those who were closed */
} * shared;

static struct sockaddr_un address = { .sun_family = AF_UNIX };

static bool is_over(void)
{
        return atomic_load(&shared->phase) < 0;
}

static void await_crowd(void)
{
        while (!is_over() && atomic_load(&shared->phase) % 2 == 0)
                crew_sleep_ms(5);
}

/* ---- the environment ---- */

static void make_tree(void)
{
        char key[20], value[VALUE_BYTES] = "value";
        xac_arena *arena;
        xac_tree *tree;
        xac_env *env;

        check_ok(xac_open(TOOL_ENV, XAC_CREATE, NULL, &env));
        check_ok(xac_arena_open_env(env, "words", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "english", XAC_TREE_CREATE, NULL, &tree));
        for (int i = 0; i < RECORDS; i++) {
                const int key_len = snprintf(key, sizeof(key), "key%06d", i);

                if (i % 1000 == 0)
                        check_ok(xbegin(env, 0));
                check_ok(xac_tree_put(tree, key, (size_t)key_len, value, sizeof(value), 0));
                if (i % 1000 == 999)
                        check_ok(xend(env));
        }
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

/* A page of many, each time. */
static void write_on(int index, void *unused)
{
        const xac_options options = { .pool_bytes = shared->pool_bytes };
        struct chance chance = { chance_seed() };
        xac_env *env;

        (void)index;
        (void)unused;
        check_ok(xac_open(TOOL_ENV, XAC_NOSYNC, &options, &env));
        char *bytes = xac_mmap(env, "counters", (size_t)PAGES * 4096, 0);
        check(bytes != MAP_FAILED);
        while (!is_over()) {
                const int phase = atomic_load(&shared->phase);
                uint64_t *word = (uint64_t *)(bytes + chance_below(&chance, PAGES) * 4096);

                check_ok(xbegin(env, 0));
                uint64_t *counter = xac_page_write(env, word);
                if (counter)
                        ++*counter;
                const int err = xend(env);
                if (phase >= 0 && err)
                        atomic_fetch_add(&shared->full[phase], err == XAC_FULL);
                else if (phase >= 0)
                        atomic_fetch_add(&shared->commits[phase], 1);
        }
        check_ok(xac_close(env));
}

/* ---- clients ---- */

/* -1: there is no place in the queue. */
static int come(void)
{
        const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        check(client >= 0);
        if (!connect(client, (const struct sockaddr *)&address, sizeof(address)))
                return client;
        close(client);
        return -1;
}

static bool ask(int client, uint64_t max_records)
{
        const xac_send_request request = { .file = "words", .tree = "english", .max_records = max_records };
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        size_t byte_len;

        check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
        return send(client, bytes, byte_len, MSG_NOSIGNAL) == (ssize_t)byte_len;
}

static void leave(struct pollfd *client)
{
        if (client->fd >= 0)
                close(client->fd);
        *client = (struct pollfd){ .fd = -1 };
}

static void come_back(struct pollfd *client)
{
        leave(client);
        *client = (struct pollfd){ .fd = come() };
        if (client->fd >= 0 && !ask(client->fd, 0))
                leave(client);
        atomic_fetch_add(&shared->returns, 1);
}

/* Each one asks for everything. The first read nothing, the others a byte a second. */
static void be_in_the_way(int index, void *unused)
{
        static struct pollfd client[NEVER + SLOW];
        char byte;

        (void)index;
        (void)unused;
        await_crowd();
        for (int i = 0; i < NEVER + SLOW; i++)
                client[i].fd = -1;
        for (int round = 0; !is_over() && atomic_load(&shared->phase) % 2; round++) {
                check(poll(client, NEVER + SLOW, 100) >= 0);
                for (int i = 0; i < NEVER + SLOW; i++) {
                        const bool is_gone = client[i].fd < 0 || client[i].revents & (POLLHUP | POLLERR);
                        const bool reads = i >= NEVER && (round + i) % 10 == 0;

                        if (is_gone || (reads && recv(client[i].fd, &byte, 1, 0) == 0))
                                come_back(&client[i]);
                }
        }
        for (int i = 0; i < NEVER + SLOW; i++)
                leave(&client[i]);
}

/* Reads what has come of a small response, and goes. */
static void visit(struct pollfd *guest, uint64_t *next_ms, uint64_t now_ms, struct chance *chance)
{
        char bytes[16384];

        if (guest->fd < 0) {
                if (now_ms < *next_ms)
                        return;
                *guest = (struct pollfd){ .fd = come(), .events = POLLIN };
                if (guest->fd >= 0 && ask(guest->fd, 3))
                        return;
        } else if (!(guest->revents & (POLLIN | POLLHUP | POLLERR))) {
                return;
        } else if (recv(guest->fd, bytes, sizeof(bytes), 0) > 0) {
                atomic_fetch_add(&shared->visits, 1);
        }
        leave(guest);
        *next_ms = now_ms + GUESTS_PAUSE_MS / 2 + chance_below(chance, GUESTS_PAUSE_MS);
}

static void come_and_go(int index, void *unused)
{
        static struct pollfd guest[GUESTS];
        static uint64_t next_ms[GUESTS];
        struct chance chance = { chance_seed() };

        (void)index;
        (void)unused;
        await_crowd();
        for (int i = 0; i < GUESTS; i++) {
                guest[i].fd = -1;
                next_ms[i] = crew_clock_ns() / 1000000 + chance_below(&chance, GUESTS_PAUSE_MS);
        }
        while (!is_over() && atomic_load(&shared->phase) % 2) {
                check(poll(guest, GUESTS, 5) >= 0);
                for (int i = 0; i < GUESTS; i++)
                        visit(&guest[i], &next_ms[i], crew_clock_ns() / 1000000, &chance);
        }
        for (int i = 0; i < GUESTS; i++)
                leave(&guest[i]);
}

/* All of a small response, again and again. */
static void be_honest(int index, void *unused)
{
        (void)index;
        (void)unused;
        await_crowd();
        while (!is_over() && atomic_load(&shared->phase) % 2) {
                const uint64_t begun_ns = crew_clock_ns();
                xac_range *range;
                int client;

                while ((client = come()) < 0)
                        crew_sleep_ms(1);
                check(fcntl(client, F_SETFL, 0) == 0);
                check_ok(xac_range_open(&range));
                check(ask(client, 10));
                check_ok(xac_range_receive(range, client));
                xac_range_close(range);
                close(client);
                const uint64_t ms = (crew_clock_ns() - begun_ns) / 1000000;
                if (ms > atomic_load(&shared->longest_ms))
                        atomic_store(&shared->longest_ms, ms);
                atomic_fetch_add(&shared->served, 1);
                crew_sleep_ms(20);
        }
}

/* ---- all of them ---- */

static pid_t start_server(void)
{
        char line[400];
        int ends[2];

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", scratch_path("socket"));
        check_ok(pipe2(ends, O_CLOEXEC));
        const pid_t pid = tool_start(tool_args("serve", TOOL_ENV, address.sun_path), ends[1]);
        close(ends[1]);
        check(read(ends[0], line, sizeof(line)) > 0);
        close(ends[0]);
        return pid;
}

static void print_figures(unsigned seconds)
{
        static const char *const names[] = { "without", "with" };

        for (int phase = 0; phase < PHASES; phase++)
                print_message("%s them: %llu commits a second, %llu XAC_FULL\n", names[phase % 2],
                              (unsigned long long)(atomic_load(&shared->commits[phase]) / seconds),
                              (unsigned long long)atomic_load(&shared->full[phase]));
        print_message(
                "an honest client: %llu responses, the longest took %llu ms; %llu visits, %llu came back\n",
                (unsigned long long)atomic_load(&shared->served), (unsigned long long)atomic_load(&shared->longest_ms),
                (unsigned long long)atomic_load(&shared->visits), (unsigned long long)atomic_load(&shared->returns));
}

static void a_crowd_is_in_nobodys_way(void)
{
        static const crew_body bodies[] = { be_in_the_way, come_and_go, be_honest };
        const char *given = getenv("CROWD_SECONDS");
        const unsigned seconds = given ? (unsigned)atoi(given) : 2;
        pid_t writer, crowd[3];

        shared = crew_shared(sizeof(*shared));
        shared->pool_bytes = given ? 0 : POOL_BYTES;
        make_tree();
        crew_limit_s(60 + PHASES * seconds);
        writer = crew_fork(write_on, 0, NULL);
        const pid_t server = start_server();
        for (int phase = 0; phase < PHASES; phase++) {
                atomic_store(&shared->phase, phase);
                for (int i = 0; phase % 2 && i < 3; i++)
                        crowd[i] = crew_fork(bodies[i], 0, NULL);
                crew_sleep_ms(1000 * seconds);
                atomic_store(&shared->phase, phase + 1 < PHASES ? phase + 1 : -1);
                for (int i = 0; phase % 2 && i < 3; i++)
                        crew_join(crowd[i]);
        }
        crew_join(writer);
        check_ok(kill(server, SIGTERM));
        crew_join(server);
        print_figures(seconds);
        for (int phase = 0; phase < PHASES; phase++) /* a server that does not run for a while cannot help it */
                check(atomic_load(&shared->full[phase]) <= (given ? 0 : atomic_load(&shared->commits[phase]) / 1000));
        check(atomic_load(&shared->served) > 0);
        check(atomic_load(&shared->longest_ms) < leeway_ms(given ? 2000 : 20000));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_crowd_is_in_nobodys_way),
        };

        return cmocka_run_group_tests_name("crowd", tests, NULL, NULL);
}
