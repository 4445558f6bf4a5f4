/* SPDX-License-Identifier: MIT */

/*
 * xac serve gives up a moment of many clients, each of whom may have much copied: it does so in turns, and others are
 * served in between. Its lines say in which order.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/send.h>

#include "tests/support/leeway.h"
#include "tests/tools/tool.h"
#include "tools/xac/serve_moments.h"

enum {
        SLOW = 40,       /* clients of one moment, of which each has too much to be copied */
        RECORDS = 10000, /* of 1 kB: more than the share of one */
        VALUE_BYTES = 1000
};

static xac_env *env;
static xac_arena *arena;
static xac_tree *tree;
static int said;
static pid_t server;

static void put(int number)
{
        char key[20], value[VALUE_BYTES] = "value";
        const int key_len = snprintf(key, sizeof(key), "key%06d", number);

        check_ok(xac_tree_put(tree, key, (size_t)key_len, value, sizeof(value), 0));
}

static void make_tree(void)
{
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, NULL, &env));
        check_ok(xac_arena_open_env(env, "words", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "english", XAC_TREE_CREATE, NULL, &tree));
        check_ok(xbegin(env, XAC_NOSYNC));
        for (int i = 0; i < RECORDS; i++)
                put(i);
        check_ok(xend(env));
}

static void start_server(void)
{
        char line[400];
        int ends[2];

        check_ok(pipe2(ends, 0));
        server = tool_start(tool_args("serve", "--verbose", "--deadline-ms=1000000", "--clients=64", "--rest-total=512",
                                      TOOL_ENV, scratch_path("socket")),
                            ends[1]);
        close(ends[1]);
        check(read(ends[0], line, sizeof(line)) > 0);
        said = ends[0];
}

static int come(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", scratch_path("socket"));
        check_ok(connect(client, (const struct sockaddr *)&address, sizeof(address)));
        return client;
}

static void ask(int client, uint64_t max_records)
{
        const xac_send_request request = { .file = "words", .tree = "english", .max_records = max_records };
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        size_t byte_len;

        check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
        check_equal(send(client, bytes, byte_len, MSG_NOSIGNAL), byte_len);
}

/* Its response has begun, and it takes no more of it. */
static void come_and_take_nothing(void)
{
        const int client = come();
        char byte;

        ask(client, 0);
        check_equal(recv(client, &byte, 1, 0), 1);
}

static void stop_server(void)
{
        int status;

        check_ok(kill(server, SIGSTOP));
        check_equal(waitpid(server, &status, WUNTRACED), server);
        check(WIFSTOPPED(status));
}

static unsigned count(const char *text, const char *end, const char *what)
{
        unsigned found = 0;

        while ((text = strstr(text, what)) && text < end) {
                found++;
                text++;
        }
        return found;
}

/* What it says until all of the slow ones are closed. */
static void read_lines(char *text, size_t room)
{
        size_t len = 0;

        check_ok(fcntl(said, F_SETFL, O_NONBLOCK));
        for (struct leeway left = leeway_of(5000);
             count(text, text + len, "too slowly") < SLOW && len < room - 1 && leeway_pause(&left);) {
                const ssize_t some = read(said, text + len, room - 1 - len);

                len += some > 0 ? (size_t)some : 0;
        }
}

static void others_are_served_in_between(void)
{
        static char text[65536];
        char byte;

        make_tree();
        start_server();
        for (unsigned i = 0; i < SLOW; i++)
                come_and_take_nothing();
        for (unsigned i = 1; i < SERVE_MOMENTS_MAX - 1; i++) {
                put(0);
                crew_sleep_ms(SERVE_MOMENT_SHARED_MS + 10); /* or it would share the one before */
                come_and_take_nothing();
        }
        put(0);
        const int last = come(), honest = come();
        crew_sleep_ms(SERVE_MOMENT_SHARED_MS + 10); /* and both are let in */
        stop_server();
        ask(last, 0); /* needs the last place, and the first moment is given up */
        ask(honest, 1);
        check_ok(kill(server, SIGCONT));
        check_equal(recv(honest, &byte, 1, 0), 1);
        check_equal(recv(last, &byte, 1, 0), 1);
        read_lines(text, sizeof(text));
        check_ok(kill(server, SIGTERM));
        crew_join(server);
        const char *served = strstr(text, "1 responses by now");
        check(served);
        check_equal(count(text, text + strlen(text), "too slowly"), SLOW);
        check(count(text, served, "too slowly") < SLOW);
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = { isolated_test(others_are_served_in_between) };

        return cmocka_run_group_tests_name("turns of xac serve", tests, NULL, NULL);
}
