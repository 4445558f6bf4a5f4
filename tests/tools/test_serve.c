/* SPDX-License-Identifier: MIT */

/* xac serve and xac get: what is asked for comes, also to several at once; and clients of all kinds leave nothing
 * behind. */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/send.h>

#include "send/send_request.h"
#include "tests/support/leeway.h"
#include "tests/tools/tool.h"

enum { RECORDS = 5000, ADDRESS_ROOM = 108 };

static struct {
        xac_env *env; /* the test's own */
        pid_t pid;
        char address[ADDRESS_ROOM];
        uint64_t participants;
        int said; /* what it says; -1: nobody reads it */
} server;

/* ---- a server ---- */

static void make_tree(void)
{
        xac_arena *arena;
        xac_tree *tree;
        char key[20], value[40];

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &server.env));
        check_ok(xac_arena_open_env(server.env, "words", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "english", XAC_TREE_CREATE, NULL, &tree));
        check_ok(xbegin(server.env, 0));
        for (int i = 0; i < RECORDS; i++) {
                const int key_len = snprintf(key, sizeof(key), "key%06d", i);
                const int value_len = snprintf(value, sizeof(value), "value number %d", i);

                check_ok(xac_tree_put(tree, key, (size_t)key_len, value, (size_t)value_len, 0));
        }
        check_ok(xend(server.env));
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

static uint64_t participants(void)
{
        xac_stats stats;

        check_ok(xac_stat(server.env, &stats));
        return stats.participants;
}

/* What it says until then is in line. */
static void await_serving(int from, char *line, size_t room)
{
        const ssize_t some = read(from, line, room - 1);

        check(some > 0);
        line[some] = '\0';
        if (strncmp(line, "serving", 7) != 0)
                fail_msg("the server says: %s", line);
}

/* At `where`; it gives its real address. */
static void start_with(const char *where, const char *option, const char *another)
{
        int ends[2];
        char line[400];

        check_ok(pipe2(ends, O_CLOEXEC));
        server.pid = tool_start(tool_args("serve", "--verbose", "--deadline-ms=200", "--clients=20", option, another,
                                          scratch_path("env"), where),
                                ends[1]);
        check_ok(close(ends[1]));
        await_serving(ends[0], line, sizeof(line));
        server.said = ends[0];
        check(sscanf(strstr(line, " on ") + 4, "%107s", server.address) == 1);
        server.participants = participants();
}

static void start_server(int is_tcp)
{
        make_tree();
        start_with(is_tcp ? "127.0.0.1:0" : scratch_path("socket"), "--way=auto", "--verbose");
        check_ok(close(server.said)); /* nobody reads more of what it says */
        server.said = -1;
}

/* --idle=0.3, and more where the machine is busy: a client must say something in less. */
static const char *idle_for_a_moment(void)
{
        const double factor = leeway_factor();
        static char option[40];

        snprintf(option, sizeof(option), "--idle=%.1f", 0.3 * (factor < 10 ? factor : 10));
        return option;
}

static void start_server_with(const char *option, const char *another)
{
        make_tree();
        start_with(scratch_path("socket"), option, another);
}

/* Nobody holds a snapshot any more, some moments after the last client has gone. */
static void check_snapshots_are_given_back(void)
{
        for (struct leeway left = leeway_of(3000); participants() != server.participants && leeway_pause(&left);)
                ;
        check_equal(participants(), server.participants);
}

/* All that the server has said is as if it had said it as `tool`. */
static void read_what_it_said(void)
{
        ssize_t some;

        tool.said_len = 0;
        while ((some = read(server.said, tool.said + tool.said_len, sizeof(tool.said) - 1 - tool.said_len)) > 0)
                tool.said_len += (size_t)some;
        tool.said[tool.said_len] = '\0';
        check_ok(close(server.said));
        server.said = -1;
}

static void end_server(void)
{
        check_snapshots_are_given_back();
        check_ok(kill(server.pid, SIGTERM));
        crew_join(server.pid);
        if (server.said >= 0)
                read_what_it_said();
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

/* A response as of a commit that another process holds is being sent: who asks for the newest one does not get that. */
static void an_older_commit_is_for_who_asks_for_it(void)
{
        xac_send_request old = all;
        xac_snapshot *snapshot;
        char expected[60];

        start_server_with("--deadline-ms=60000", "--verbose");
        check_ok(xac_snapshot_open(server.env, 0, &snapshot));
        old.sequence = xac_snapshot_sequence(snapshot);
        uint64_t *word = xac_mmap(server.env, "another", 4096, 0);
        check(word != MAP_FAILED);
        check_ok(xbegin(server.env, 0));
        ++*word;
        check_ok(xend(server.env));
        const int client = connect_to_server();
        for (int i = 0; i < 20; i++) /* more than the kernel takes */
                ask(client, &old);
        crew_sleep_ms(20);
        check_served();
        snprintf(expected, sizeof(expected), "as of commit %llu", (unsigned long long)old.sequence);
        check_not_said(expected);
        check_ok(close(client));
        check_ok(xac_snapshot_close(snapshot));
        end_server();
}

/* ---- those that say nothing ---- */

static void check_closed(int client)
{
        char byte;

        check_equal(recv(client, &byte, 1, 0), 0);
        check_ok(close(client));
}

static void who_says_nothing_gives_its_place_up(void)
{
        enum { SILENT = 18 };
        int clients[SILENT];

        start_server_with(idle_for_a_moment(), "--verbose");
        for (int i = 0; i < SILENT; i++) {
                clients[i] = connect_to_server();
                check_equal(send(clients[i], "half", i % 2 * 4, MSG_NOSIGNAL), i % 2 * 4);
        }
        check_served();
        for (int i = 0; i < SILENT; i++)
                check_closed(clients[i]);
        end_server();
        check_equal(tool_count_said("closed: half a request"), SILENT / 2);
        check(tool_count_said("closed: it asks for nothing") >= SILENT / 2);
}

/* All places are taken, by who says nothing, or half of something. */
static void the_longest_silent_makes_way(void)
{
        enum { PLACES = 20 };
        int clients[PLACES];

        start_server_with("--idle=0", "--verbose");
        for (int i = 0; i < PLACES; i++) {
                clients[i] = connect_to_server();
                check_equal(send(clients[i], "half", i % 2 * 4, MSG_NOSIGNAL), i % 2 * 4);
                crew_sleep_ms(2);
        }
        check_served();
        check_closed(clients[0]);
        for (int i = 1; i < PLACES; i++) {
                check_code(recv(clients[i], &(char){ 0 }, 1, MSG_DONTWAIT) < 0 ? -errno : 0, -EAGAIN);
                check_ok(close(clients[i]));
        }
        end_server();
        check_equal(tool_count_said("and others wait"), 1);
}

/* A response that nobody takes is no reason to wait, either. */
static void who_takes_nothing_makes_way(void)
{
        enum { PLACES = 20 };
        int clients[PLACES];

        start_server_with("--deadline-ms=60000", "--idle=0");
        for (int i = 0; i < PLACES; i++) {
                clients[i] = connect_to_server();
                for (int j = 0; j < 20; j++) /* more than the kernel takes */
                        ask(clients[i], &all);
        }
        check_served();
        for (int i = 0; i < PLACES; i++)
                check_ok(close(clients[i]));
        end_server();
        check_equal(tool_count_said("and others wait"), 1);
}

/* A byte now and then does not prolong it. */
static void half_a_request_that_never_ends_is_closed(void)
{
        const struct send_frame head = send_frame_order((struct send_frame){ SEND_GET, 0, SEND_GET_MAX });
        char byte;
        int bytes = 0;

        start_server_with(idle_for_a_moment(), "--verbose");
        const int client = connect_to_server();
        check_equal(send(client, &head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
        while (bytes < 1000 && recv(client, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
                bytes += send(client, "x", 1, MSG_NOSIGNAL) == 1;
                crew_sleep_ms(10);
        }
        check(bytes > 0 && bytes < 1000);
        check_ok(close(client));
        end_server();
        check_said("closed: half a request");
}

static void who_says_nothing_may_stay(void)
{
        start_server_with("--idle=0", "--verbose");
        const int client = connect_to_server();
        char byte;

        crew_sleep_ms(300);
        check(recv(client, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
        ask(client, &all);
        check_equal(recv(client, &byte, 1, 0), 1);
        check_ok(close(client));
        end_server();
}

/* ---- copies for slow clients ---- */

/* How many of so many responses come to who reads only when it has been given up. */
static int responses_for_the_late(int count)
{
        const int client = connect_to_server();
        xac_range *range;
        int got = 0;

        for (int i = 0; i < count; i++)
                ask(client, &all);
        while (participants() == server.participants)
                crew_sleep_ms(1);
        check_snapshots_are_given_back();
        check_ok(xac_range_open(&range));
        while (got < count && !xac_range_receive(range, client))
                got++;
        xac_range_close(range);
        check_ok(close(client));
        return got;
}

static void copies_have_a_limit(int is_small)
{
        start_server_with(is_small ? "--rest-total=1" : "--rest-total=100", "--deadline-ms=500");
        const int got = responses_for_the_late(20);

        if (is_small)
                check(got < 20);
        else
                check(got >= 2);
        end_server();
        if (is_small)
                check_said("ETIMEDOUT");
        else
                check_said(": 2 responses by now");
}

/* ---- ways ---- */

/* Of a request that leaves it open: the client takes what the server has chosen. */
static void a_server_may_choose_pages(void)
{
        start_server_with("--way=pages", "--verbose");
        check_served();
        check_xac(0, "get", "--count", "--max=7", server.address, "words", "english");
        check_said("7 records");
        end_server();
}

/* So many that the pieces of a batch run out behind the head of a frame: none is sent without pages. */
static void a_long_file_is_sent_as_a_whole(void)
{
        enum { LONG_PAGES = 131000 };
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int status;

        start_server_with("--deadline-ms=60000", "--verbose");
        check(xac_mmap(server.env, "long", (size_t)LONG_PAGES * 4096, 0) != MAP_FAILED);
        check(nowhere >= 0);
        const pid_t pid = tool_start(tool_args("get", server.address, "long"), nowhere);
        check_equal(waitpid(pid, &status, 0), pid);
        check_equal(status, 0);
        close(nowhere);
        end_server();
}

/* ---- errors ---- */

static void errors_are_told(void)
{
        static const char garbage[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

        start_server_with("--verbose", "--verbose");
        check_xac(1, "get", "--from=a\\x01", "--to=b", server.address, "words", "none");
        check_xac(1, "get", server.address, "nothing", "none");
        const int client = connect_to_server();
        check_equal(send(client, garbage, sizeof(garbage), MSG_NOSIGNAL), sizeof(garbage));
        char byte;
        while (recv(client, &byte, 1, 0) > 0)
                ;
        check_ok(close(client));
        end_server();
        check_said("words none from a\\x01 to b: ENOENT: No such file");
        check_said("nothing none: ENOENT");
        check_said("this is no request");
}

/* ---- what there is ---- */

static void what_there_is_is_listed(void)
{
        static const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 24 };
        xac_arena *arena;
        xac_tree *tree;

        start_server(0);
        check_xac(0, "get", "--list", server.address);
        check_said("words\tenglish\tany\tany\n");
        check_not_said("numbers");
        check_ok(xac_arena_open_env(server.env, "numbers", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "fixed", XAC_TREE_CREATE, &fixed, &tree));
        xac_tree_close(tree);
        check_ok(xac_tree_open(arena, "tab\there", XAC_TREE_CREATE, NULL, &tree));
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_xac(0, "get", "--list", server.address);
        check_said("words\t\t");
        check_said(" pages of 4096 bytes\n");
        check_said("numbers\tfixed\t8\t24\n");
        check_said("numbers\ttab\\x09here\tany\tany\n");
        check_equal(tool_count_said("\n"), 5);
        check_served();
        end_server();
}

/* Much of it, and the client reads nothing: it costs its place until the deadline. */
static void a_list_that_nobody_takes_is_in_nobodys_way(void)
{
        const struct send_frame request = send_frame_order((struct send_frame){ SEND_LIST, 0, 0 });
        char byte;

        start_server_with("--verbose", "--verbose");
        const int client = connect_to_server();
        for (int i = 0; i < 20000; i++)
                if (send(client, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(request))
                        break;
        check_served();
        while (send(client, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request))
                ; /* it is closed in the end */
        while (recv(client, &byte, 1, 0) > 0)
                ;
        check_ok(close(client));
        end_server();
        check_said("list: ETIMEDOUT");
}

static void malformed_lists_are_no_requests(int way)
{
        static const struct send_frame heads[] = { { SEND_LIST, 1, 0 }, { SEND_LIST, 0, 4 } };
        const struct send_frame request[2] = { send_frame_order(heads[way]) };
        const size_t byte_len = sizeof(request[0]) + heads[way].byte_len;
        struct send_frame head;

        start_server(0);
        const int client = connect_to_server();
        check_equal(send(client, request, byte_len, MSG_NOSIGNAL), byte_len);
        check_equal(recv(client, &head, sizeof(head), MSG_WAITALL), sizeof(head));
        check_equal(send_frame_order(head).kind, SEND_ERROR);
        check_ok(close(client));
        end_server();
}

/* ---- addresses ---- */

static void addresses_of_ipv6_have_brackets(void)
{
        struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (probe < 0 || bind(probe, (const struct sockaddr *)&any, sizeof(any)))
                skip(); /* this machine has no IPv6 */
        check_ok(close(probe));
        make_tree();
        start_with("[::1]:0", "--verbose", "--verbose");
        check(strncmp(server.address, "[::1]:", 6) == 0 && strcmp(server.address, "[::1]:0") != 0);
        check_served();
        end_server();
}

/* ---- the path ---- */

static void check_free(void)
{
        check_code(access(scratch_path("socket"), F_OK) ? -errno : 0, -ENOENT);
}

static void the_path_of_who_was_killed_is_taken(void)
{
        start_server(0);
        check_xac(1, "serve", scratch_path("env"), server.address);
        check_said("a server is there");
        check_served();
        crew_kill(server.pid);
        check_ok(access(server.address, F_OK));
        server.participants = participants();
        start_with(scratch_path("socket"), "--verbose", "--verbose");
        check_served();
        end_server();
        check_free();
}

static void what_is_no_socket_stays(void)
{
        make_tree();
        const int file = open(scratch_path("socket"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        check_ok(close(file));
        check_xac(1, "serve", scratch_path("env"), scratch_path("socket"));
        check_said("no socket");
        check_ok(access(scratch_path("socket"), F_OK));
        check_ok(xac_close(server.env));
}

/* Somebody took it away, and another server has it now. */
static void only_its_own_path_is_taken_away(void)
{
        start_server(0);
        const pid_t first = server.pid;

        check_ok(unlink(server.address));
        start_with(scratch_path("socket"), "--verbose", "--verbose");
        check_ok(kill(first, SIGTERM));
        crew_join(first);
        server.participants = participants();
        check_served();
        end_server();
        check_free();
}

/* Whoever is about to look at the path waits for this. */
static int lock_directory(void)
{
        char path[ADDRESS_ROOM];

        snprintf(path, sizeof(path), "%s", scratch_path("socket"));
        *strrchr(path, '/') = '\0';
        const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(directory >= 0);
        check_ok(flock(directory, LOCK_EX));
        return directory;
}

/* SIGTERM is blocked, as the kernel tells it; not all signals are, as they are while a thread is made. */
static int blocks_the_end(pid_t pid)
{
        char path[64], line[200];
        unsigned long long blocked = 0;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        FILE *status = fopen(path, "re");
        check(status);
        while (fgets(line, sizeof(line), status))
                sscanf(line, "SigBlk: %llx", &blocked);
        fclose(status);
        return (blocked >> (SIGTERM - 1) & 1) && !(blocked >> (SIGHUP - 1) & 1);
}

static void await_blocked(pid_t pid)
{
        for (struct leeway left = leeway_of(5000); !blocks_the_end(pid) && leeway_pause(&left);)
                ;
        check(blocks_the_end(pid));
}

static void a_signal_before_it_listens_leaves_nothing(void)
{
        int ends[2];

        make_tree();
        const int lock = lock_directory();
        check_ok(pipe2(ends, O_CLOEXEC));
        const pid_t pid = tool_start(tool_args("serve", scratch_path("env"), scratch_path("socket")), ends[1]);
        await_blocked(pid);
        check_ok(kill(pid, SIGTERM));
        check_ok(close(lock));
        crew_join(pid);
        check_free();
        check_ok(close(ends[0]));
        check_ok(close(ends[1]));
        check_ok(xac_close(server.env));
}

enum { RIVALS = 6 };

/* Is it the one that serves? The others say why they do not, in several writes. */
static int serves(pid_t pid, int from)
{
        char line[400];
        size_t len = 0;
        ssize_t some;

        while ((some = read(from, line + len, sizeof(line) - 1 - len)) > 0) {
                len += (size_t)some;
                line[len] = '\0';
                if (strncmp(line, "serving", 7) == 0)
                        return 1;
        }
        check(strstr(line, "a server is there"));
        check_equal(crew_status(pid), 1 << 8);
        return 0;
}

/* It has not even looked yet. */
static void check_silent(int from)
{
        struct pollfd said = { .fd = from, .events = POLLIN };

        check_equal(poll(&said, 1, 0), 0);
}

/* One of them has the path, whoever looks at it when. */
static void of_several_one_takes_the_path(void)
{
        pid_t pids[RIVALS];
        int from[RIVALS], serving = 0;

        start_server(0);
        crew_kill(server.pid);
        const int lock = lock_directory();
        for (int i = 0; i < RIVALS; i++) {
                int ends[2];

                check_ok(pipe2(ends, O_CLOEXEC));
                pids[i] = tool_start(tool_args("serve", scratch_path("env"), server.address), ends[1]);
                check_ok(close(ends[1]));
                from[i] = ends[0];
        }
        for (int i = 0; i < RIVALS; i++)
                await_blocked(pids[i]);
        crew_sleep_ms(100);
        for (int i = 0; i < RIVALS; i++)
                check_silent(from[i]);
        check_ok(close(lock));
        for (int i = 0; i < RIVALS; i++) {
                if (serves(pids[i], from[i]))
                        server.pid = pids[i], serving++;
                check_ok(close(from[i]));
        }
        check_equal(serving, 1);
        server.participants = participants();
        check_served();
        end_server();
}

/* ---- arguments ---- */

static void wrong_arguments_are_told(void)
{
        make_tree();
        check_xac(2, "serve", "--idle=-1", "/tmp", "x");
        check_xac(2, "serve", "--rest-total=x", "/tmp", "x");
        check_xac(1, "serve", scratch_path("env"), "[::1:0");
        check_said("[ADDRESS]:PORT");
        check_xac(1, "serve", scratch_path("env"), "::1:0");
        check_xac(2, "get", "--list", "x", "y");
        check_xac(2, "get", "--list", "--max=1", "x");
        check_xac(2, "get", "--from=a\\x+1", "x", "y", "z");
        check_said("two hexadecimal digits");
        check_xac(2, "get", "--from=a\\x 1", "x", "y", "z");
        check_xac(2, "get", "--to=a\\x1", "x", "y", "z");
        check_said("--to");
        check_xac(2, "get", "--to=a\\x", "x", "y", "z");
        check_xac(2, "serve", "/tmp");
        check_xac(2, "serve", "--way=none", "/tmp", "x");
        check_xac(2, "serve", "--clients=0", "/tmp", "x");
        check_said("--clients takes a number from 1");
        check_xac(2, "serve", "--deadline-ms=0", "/tmp", "x");
        check_xac(2, "get", "--repeat=0", "x", "y", "z");
        check_xac(2, "get", "--way=pages", "--max-bytes=10", "x", "y", "z");
        check_said("--max-bytes");
        check_xac(1, "serve", scratch_path("env"), "127.0.0.1:65536"); /* and not port 0 */
        check_said("65535");
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
                isolated_test(an_older_commit_is_for_who_asks_for_it),
                isolated_test(who_says_nothing_gives_its_place_up),
                isolated_test(the_longest_silent_makes_way),
                isolated_test(who_takes_nothing_makes_way),
                isolated_test(half_a_request_that_never_ends_is_closed),
                isolated_test(who_says_nothing_may_stay),
                isolated_way(copies_have_a_limit, 0, "enough"),
                isolated_way(copies_have_a_limit, 1, "small"),
                isolated_test(a_server_may_choose_pages),
                isolated_test(a_long_file_is_sent_as_a_whole),
                isolated_test(errors_are_told),
                isolated_test(what_there_is_is_listed),
                isolated_test(a_list_that_nobody_takes_is_in_nobodys_way),
                isolated_way(malformed_lists_are_no_requests, 0, "a count"),
                isolated_way(malformed_lists_are_no_requests, 1, "a body"),
                isolated_test(addresses_of_ipv6_have_brackets),
                isolated_test(the_path_of_who_was_killed_is_taken),
                isolated_test(what_is_no_socket_stays),
                isolated_test(only_its_own_path_is_taken_away),
                isolated_test(a_signal_before_it_listens_leaves_nothing),
                isolated_test(of_several_one_takes_the_path),
                isolated_test(wrong_arguments_are_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
