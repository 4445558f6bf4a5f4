/* SPDX-License-Identifier: MIT */

/* xac serve and xac get: what is asked for comes, also to several at once; and clients of all kinds leave nothing
 * behind. */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <xac/send.h>

#include "send/send_format.h"
#include "tests/tools/tool.h"

enum { RECORDS = 5000, ADDRESS_ROOM = 108 };

static struct {
        xac_env *env; /* the test's own */
        pid_t pid;
        char address[ADDRESS_ROOM];
        uint64_t participants;
} server;

/* ---- a server ---- */

static void make_tree(void)
{
        page_arena *arena;
        bptree *tree;
        char key[20], value[40];

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &server.env));
        check_ok(page_arena_open_env(server.env, "words", PAGE_ARENA_DECLARED, &arena));
        check_ok(bptree_open(arena, "english", BPTREE_CREATE, NULL, &tree));
        check_ok(xbegin(server.env, 0));
        for (int i = 0; i < RECORDS; i++) {
                const int key_len = snprintf(key, sizeof(key), "key%06d", i);
                const int value_len = snprintf(value, sizeof(value), "value number %d", i);

                check_ok(bptree_put(tree, key, (size_t)key_len, value, (size_t)value_len, 0));
        }
        check_ok(xend(server.env));
        bptree_close(tree);
        check_ok(page_arena_close(arena));
}

static uint64_t participants(void)
{
        xac_stats stats;

        check_ok(xac_stat(server.env, &stats));
        return stats.participants;
}

/* A port that was free a moment ago. */
static void choose_port(void)
{
        struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(any);
        const int probe = socket(AF_INET, SOCK_STREAM, 0);

        check_ok(bind(probe, (const struct sockaddr *)&any, sizeof(any)));
        check_ok(getsockname(probe, (struct sockaddr *)&any, &length));
        snprintf(server.address, sizeof(server.address), "127.0.0.1:%d", ntohs(any.sin_port));
        check_ok(close(probe));
}

static void start_server(int is_tcp)
{
        int ends[2];
        char line[200];

        make_tree();
        if (is_tcp)
                choose_port();
        else
                snprintf(server.address, sizeof(server.address), "%s", scratch_path("socket"));
        check_ok(pipe2(ends, O_CLOEXEC));
        server.pid = tool_start(tool_args("serve", "--verbose", "--deadline-ms=200", "--clients=20",
                                          scratch_path("env"), server.address),
                                ends[1]);
        check_ok(close(ends[1]));
        check(read(ends[0], line, sizeof(line)) > 0 && strncmp(line, "serving", 7) == 0);
        check_ok(close(ends[0])); /* nobody reads more of what it says */
        server.participants = participants();
}

/* Nobody holds a snapshot any more, some moments after the last client has gone. */
static void check_snapshots_are_given_back(void)
{
        for (int i = 0; i < 300 && participants() != server.participants; i++)
                crew_sleep_ms(10);
        check_equal(participants(), server.participants);
}

static void end_server(void)
{
        check_snapshots_are_given_back();
        check_ok(kill(server.pid, SIGTERM));
        crew_join(server.pid);
        if (server.address[0] == '/')
                check_code(access(server.address, F_OK) ? -errno : 0, -ENOENT);
        check_ok(xac_close(server.env));
}

/* ---- clients ---- */

static int connect_to_server(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", server.address);
        check_ok(connect(client, (const struct sockaddr *)&address, sizeof(address)));
        return client;
}

static void ask(int client, const xac_send_request *request)
{
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        size_t byte_len;

        check_ok(xac_send_request_encode(request, bytes, sizeof(bytes), &byte_len));
        check_equal(send(client, bytes, byte_len, MSG_NOSIGNAL), byte_len);
}

static const xac_send_request all = { .file = "words", .tree = "english" };

static void check_served(void)
{
        check_xac(0, "get", "--count", server.address, "words", "english");
        check_said("5000 records");
}

static void be_client(int number, void *unused)
{
        const int client = connect_to_server();
        xac_send_request request = all;
        xac_range *range;

        (void)unused;
        check_ok(xac_range_open(&range));
        for (int i = 0; i < 40; i++) {
                int records = 0;

                request.way = (enum xac_send_way)((number + i) % (XAC_SEND_PAGES + 1));
                request.base_sequence = xac_range_sequence(range);
                ask(client, &request);
                check_ok(xac_range_receive(range, client));
                while (!xac_range_next(range))
                        records++;
                check_equal(records, RECORDS);
        }
        xac_range_close(range);
        check_ok(close(client));
}

/* ---- tests ---- */

static void what_is_asked_for_is_printed(int is_tcp)
{
        start_server(is_tcp);
        check_xac(0, "get", "--from=key000100", "--to=key00010\\x33", server.address, "words", "english");
        check_said("key000100\tvalue number 100\nkey000101\tvalue number 101\nkey000102\tvalue number 102\n");
        check_not_said("key000103");
        check_xac(0, "get", "--max=2", "--way=gather", server.address, "words", "english");
        check_said("key000001\tvalue number 1\n");
        check_not_said("key000002");
        check_xac(0, "get", "--count", "--repeat=3", "--way=pages", server.address, "words", "english");
        check_equal(tool_count_said("5000 records"), 3);
        check_xac(1, "get", server.address, "words", "none");
        check_said("words, none");
        check_xac(1, "get", server.address, "none");
        end_server();
}

static void several_are_served_at_once(void)
{
        start_server(0);
        crew_processes(12, be_client, NULL);
        end_server();
}

/* It says so, and closes; others go on. */
static void what_is_no_request_is_told(void)
{
        static const char garbage[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        struct send_frame head;
        char rest[200];
        int client;

        start_server(0);
        client = connect_to_server();
        check_equal(send(client, garbage, sizeof(garbage), MSG_NOSIGNAL), sizeof(garbage));
        check_equal(recv(client, &head, sizeof(head), MSG_WAITALL), sizeof(head));
        check_equal(send_frame_order(head).kind, SEND_ERROR);
        while (read(client, rest, sizeof(rest)) > 0)
                ;
        check_ok(close(client));
        check_served();
        end_server();
}

/* Connections that say nothing, half of something, or read nothing, or vanish, are in nobody's way. */
static void bad_clients_are_in_nobodys_way(void)
{
        int silent, half, deaf;

        start_server(0);
        silent = connect_to_server();
        half = connect_to_server();
        check_equal(send(half, "half", 4, MSG_NOSIGNAL), 4);
        deaf = connect_to_server();
        for (int i = 0; i < 20; i++)
                ask(deaf, &all);
        for (int i = 0; i < 10; i++) {
                const int client = connect_to_server();

                ask(client, &all);
                check_ok(close(client));
                check_served();
        }
        check_snapshots_are_given_back(); /* after the deadline, though the client is still there */
        check_ok(close(silent));
        check_ok(close(half));
        check_ok(close(deaf));
        check_served();
        end_server();
}

static int connect_to_port(void)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        address.sin_port = htons((uint16_t)atoi(strrchr(server.address, ':') + 1));
        check_ok(connect(client, (const struct sockaddr *)&address, sizeof(address)));
        return client;
}

/* The server comes to it only then. */
static void who_has_gone_before_it_is_let_in_stops_nobody(void)
{
        const struct linger at_once = { .l_onoff = 1 };
        char byte;

        start_server(1);
        const int there = connect_to_port();
        ask(there, &all);
        check_equal(recv(there, &byte, 1, 0), 1);
        check_ok(kill(server.pid, SIGSTOP));
        const int gone = connect_to_port();
        check_ok(setsockopt(gone, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
        check_ok(close(gone));
        check_ok(kill(server.pid, SIGCONT));
        crew_sleep_ms(50);
        check_served();
        check_ok(close(there));
        end_server();
}

static void more_clients_wait(void)
{
        int clients[20];

        start_server(0);
        for (int i = 0; i < 20; i++)
                clients[i] = connect_to_server();
        const int last = connect_to_server();
        char byte;
        ask(last, &all);
        crew_sleep_ms(50);
        check(recv(last, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
        check_ok(close(clients[7]));
        check_equal(recv(last, &byte, 1, 0), 1);
        for (int i = 0; i < 20; i++)
                if (i != 7)
                        check_ok(close(clients[i]));
        check_ok(close(last));
        check_served();
        end_server();
}

static void wrong_arguments_are_told(void)
{
        make_tree();
        check_xac(2, "serve", "/tmp");
        check_xac(2, "serve", "--way=none", "/tmp", "x");
        check_xac(2, "serve", "--clients=0", "/tmp", "x");
        check_xac(2, "get", "x");
        check_xac(2, "get", "--from=", "x", "y", "z");
        check_xac(2, "get", "--count", "x", "y");
        check_xac(1, "serve", scratch_path("none"), scratch_path("socket"));
        check_xac(1, "serve", scratch_path("env"), "0.0.0.0:0");
        check_said("--any-address");
        check_xac(1, "serve", scratch_path("env"), scratch_path("no/socket"));
        check_xac(1, "get", scratch_path("socket"), "words", "english");
        check_ok(xac_close(server.env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(what_is_asked_for_is_printed, 0, "Unix"),
                isolated_way(what_is_asked_for_is_printed, 1, "TCP"),
                isolated_test(several_are_served_at_once),
                isolated_test(what_is_no_request_is_told),
                isolated_test(bad_clients_are_in_nobodys_way),
                isolated_test(who_has_gone_before_it_is_let_in_stops_nobody),
                isolated_test(more_clients_wait),
                isolated_test(wrong_arguments_are_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
