/* SPDX-License-Identifier: MIT */
#include <xac/send.h>

/*
 * From a tree through a socket to a client: each way brings what the snapshot has, whatever has changed since; what is
 * left of snapshots when clients are slow, or gone.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/send/sockets.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { KEYS = 4000, KEY_ROOM = 48, VALUE_ROOM = 300000, OVER_TCP = 1, LARGE = 2 };

static const xac_tree_options fixed_options = { .key_bytes = 8, .value_bytes = 24 };

static struct chance chance;
static xac_env *env;
static xac_arena *arena;
static xac_tree *tree;
static bool is_fixed, has_large;

/* ---- the sender ---- */

static int sender_flags;

static void open_sender(int socket, const xac_send_options *options, xac_sender **sender)
{
        xac_send_options all = options ? *options : (xac_send_options){ .flags = 0 };

        all.flags |= sender_flags;
        check_ok(xac_sender_open(env, socket, &all, sender));
}

/* The same tests without MSG_ZEROCOPY. */
static void use_uring(void)
{
        const xac_send_options options = { .flags = XAC_SEND_URING };
        xac_sender *sender = NULL;
        xac_env *some;
        int sockets[2];

        check_ok(xac_open(scratch_path("uring"), XAC_CREATE, NULL, &some));
        sockets_connect(sockets, 1);
        const int err = xac_sender_open(some, sockets[0], &options, &sender);
        xac_sender_close(sender);
        check_ok(xac_close(some));
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        if (err == -ENOTSUP || err == -EPERM || err == -ENOSYS)
                isolate_skip("no io_uring");
        check_ok(err);
        sender_flags = XAC_SEND_URING;
}

/* ---- the tree ---- */

static void open_tree(int kind)
{
        chance.state = chance_seed();
        is_fixed = !kind;
        has_large = kind == LARGE;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, is_fixed ? &fixed_options : NULL, &tree));
}

static void close_tree(void)
{
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

/* Keys of different lengths, many of which begin alike. */
static size_t make_key(unsigned number, unsigned char *key)
{
        memset(key, 0, KEY_ROOM);
        key[is_fixed ? 6 : 0] = (unsigned char)(number >> 8);
        key[is_fixed ? 7 : 1] = (unsigned char)number;
        return is_fixed ? 8 : 2 + number % (KEY_ROOM - 2);
}

static size_t value_length(void)
{
        if (is_fixed)
                return fixed_options.value_bytes;
        if (has_large && chance_percent(&chance, 2))
                return (size_t)chance_below(&chance, VALUE_ROOM);
        return (size_t)chance_below(&chance, chance_percent(&chance, 20) ? 900 : 60);
}

static void change_one(void)
{
        static unsigned char value[VALUE_ROOM];
        unsigned char key[KEY_ROOM];
        const size_t key_len = make_key((unsigned)chance_below(&chance, KEYS), key), value_len = value_length();

        memset(value, (int)chance_below(&chance, 256), value_len);
        if (chance_percent(&chance, 30)) {
                int err = xac_tree_delete(tree, key, key_len);

                check(err == 0 || err == -ENOENT);
        } else {
                check_ok(xac_tree_put(tree, key, key_len, value, value_len, 0));
        }
}

static void change(unsigned count)
{
        while (count--)
                change_one();
}

/* ---- the client ---- */

struct client {
        int socket, result;
        xac_range *range;
        pthread_t thread;
};

static void *receive(void *client_)
{
        struct client *client = client_;

        client->result = xac_range_receive(client->range, client->socket);
        return NULL;
}

/* ---- what came, and what should have ---- */

struct expecting {
        xac_tree *tree;
        xac_range *range;
        uint64_t records, max_records, bytes, max_bytes;
        int is_cut; /* by a limit */
};

static void check_value(const struct expecting *expecting, const xac_tree_record *now, const xac_tree_record *expected)
{
        static unsigned char value[VALUE_ROOM];
        size_t len;

        check_equal(now->value_len, expected->value_len);
        check_ok(xac_tree_get(expecting->tree, expected->key, expected->key_len, value, sizeof(value), &len));
        check_equal(len, now->value_len);
        check(memcmp(now->value, value, len) == 0);
}

static int expect(void *expecting_, const xac_tree_record *expected)
{
        struct expecting *expecting = expecting_;
        xac_tree_record now;

        if (expecting->max_records && expecting->records == expecting->max_records)
                return expecting->is_cut = 1;
        expecting->bytes += expected->key_len + expected->value_len;
        if (expecting->max_bytes && expecting->records && expecting->bytes > expecting->max_bytes)
                return expecting->is_cut = 1;
        check_ok(xac_range_next(expecting->range));
        check_ok(xac_range_record(expecting->range, &now));
        check_equal(now.key_len, expected->key_len);
        check(memcmp(now.key, expected->key, now.key_len) == 0);
        check_value(expecting, &now, expected);
        expecting->records++;
        return 0;
}

/* The client has what the tree is as of the snapshot, within the range. */
static void check_range(xac_range *range, xac_snapshot *snapshot, const xac_send_request *request)
{
        struct expecting expecting = { .range = range,
                                       .max_records = request->max_records,
                                       .max_bytes = request->max_bytes };
        xac_arena *then;

        check_equal(xac_range_sequence(range), xac_snapshot_sequence(snapshot));
        check_ok(xac_arena_open_snapshot(snapshot, "trees", &then));
        check_ok(xac_tree_open(then, "tree", 0, NULL, &expecting.tree));
        int err = xac_tree_scan(expecting.tree, request->from, request->from_len, request->to, request->to_len, expect,
                                &expecting);
        check_equal(err, expecting.is_cut);
        check_code(xac_range_next(range), -ENOENT);
        check_equal(xac_range_is_cut(range), expecting.is_cut);
        xac_tree_close(expecting.tree);
        check_ok(xac_arena_close(then));
}

/* ---- requests ---- */

static unsigned char from_key[KEY_ROOM], to_key[KEY_ROOM];

static xac_send_request random_request(void)
{
        xac_send_request request = { .file = "trees", .tree = "tree" };
        const unsigned from = (unsigned)chance_below(&chance, KEYS);

        if (chance_percent(&chance, 70)) {
                request.from = from_key;
                request.from_len = make_key(from, from_key);
        }
        if (chance_percent(&chance, 70)) {
                request.to = to_key;
                request.to_len = make_key(from + (unsigned)chance_below(&chance, KEYS - from), to_key);
        }
        request.way = (enum xac_send_way)chance_below(&chance, XAC_SEND_PAGES + 1);
        if (request.way != XAC_SEND_PAGES && chance_percent(&chance, 30))
                request.max_records = 1 + chance_below(&chance, 2000);
        if (request.way != XAC_SEND_PAGES && chance_percent(&chance, 30))
                request.max_bytes = 1 + chance_below(&chance, chance_percent(&chance, 50) ? 200 : 200000);
        return request;
}

static void send_one(xac_sender *sender, struct client *client, const xac_send_request *request)
{
        check_ok(pthread_create(&client->thread, NULL, receive, client));
        check_ok(xac_send(sender, request));
        check_ok(pthread_join(client->thread, NULL));
        check_ok(client->result);
}

/* The snapshot may have been opened long before. */
static void each_way_brings_what_the_snapshot_has(int kind, int how)
{
        enum { SNAPSHOTS = 4, ROUNDS = 120 };
        xac_snapshot *snapshots[SNAPSHOTS] = { NULL };
        struct client client = { .range = NULL };
        xac_sender *sender;
        int sockets[2];

        open_tree(kind);
        change(5000);
        sockets_connect(sockets, how & OVER_TCP);
        client.socket = sockets[1];
        open_sender(sockets[0], NULL, &sender);
        check_ok(xac_range_open(&client.range));
        for (int round = 0; round < ROUNDS; round++) {
                xac_snapshot **snapshot = &snapshots[chance_below(&chance, SNAPSHOTS)];
                xac_send_request request = random_request();

                if (!*snapshot || chance_percent(&chance, 30)) {
                        if (*snapshot)
                                check_ok(xac_snapshot_close(*snapshot));
                        check_ok(xac_snapshot_open(env, 0, snapshot));
                }
                change(100);
                if (chance_percent(&chance, 10))
                        check_ok(xac_checkpoint(env));
                request.sequence = xac_snapshot_sequence(*snapshot);
                send_one(sender, &client, &request);
                check_range(client.range, *snapshot, &request);
        }
        for (int i = 0; i < SNAPSHOTS; i++)
                if (snapshots[i])
                        check_ok(xac_snapshot_close(snapshots[i]));
        xac_range_close(client.range);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

static void ways_by_uring(int kind)
{
        use_uring();
        each_way_brings_what_the_snapshot_has(kind, OVER_TCP);
}

static void ways(int way)
{
        each_way_brings_what_the_snapshot_has(way / 2, way % 2 ? OVER_TCP : 0);
}

/* What the client has becomes what the newer snapshot has, by what has changed. */
static void what_has_changed_is_all_that_is_sent(int kind)
{
        struct client client = { .range = NULL };
        xac_send_stats before, after;
        xac_sender *sender;
        int sockets[2];
        uint64_t kept = 0, deltas = 0;

        open_tree(kind);
        change(8000);
        sockets_connect(sockets, 0);
        client.socket = sockets[1];
        open_sender(sockets[0], NULL, &sender);
        check_ok(xac_range_open(&client.range));
        xac_send_request request = random_request();
        for (int round = 0; round < 150; round++) {
                xac_snapshot *snapshot;

                if (chance_percent(&chance, 5)) {
                        request = random_request();
                        xac_sender_forget(sender);
                }
                request.way = XAC_SEND_PAGES;
                request.max_records = request.max_bytes = 0;
                change((unsigned)chance_below(&chance, chance_percent(&chance, 10) ? 3000 : 20));
                check_ok(xac_snapshot_open(env, 0, &snapshot));
                request.base_sequence = xac_range_sequence(client.range);
                xac_sender_stat(sender, &before);
                send_one(sender, &client, &request);
                xac_sender_stat(sender, &after);
                kept += after.kept - before.kept;
                deltas += after.deltas - before.deltas;
                check_range(client.range, snapshot, &request);
                check_ok(xac_snapshot_close(snapshot));
        }
        check(kept > 0 && deltas > 0);
        xac_range_close(client.range);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

/* ---- clients that are slow, or gone ---- */

static uint64_t participants(void)
{
        xac_stats stats;

        check_ok(xac_stat(env, &stats));
        return stats.participants;
}

static void small_buffers(const int sockets[2])
{
        const int bytes = 65536;

        check_ok(setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)));
        check_ok(setsockopt(sockets[1], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)));
}

/* The deadline comes before the client does; it gets all the same what it was to get. */
static void a_slow_client_gets_a_copy(int way)
{
        const xac_send_options options = { .deadline_ms = 500 };
        xac_send_request request = { .file = "trees", .tree = "tree", .way = (enum xac_send_way)(way / 2) };
        struct client client = { .range = NULL };
        xac_send_stats stats;
        xac_snapshot *snapshot;
        xac_sender *sender;
        int sockets[2], events, timeout_ms, result;

        open_tree(LARGE);
        change(6000);
        sockets_connect(sockets, way % 2 ? OVER_TCP : 0);
        small_buffers(sockets);
        client.socket = sockets[1];
        check_ok(xac_range_open(&client.range));
        open_sender(sockets[0], &options, &sender);
        const uint64_t before = participants();
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        const uint64_t begun_ns = crew_clock_ns();
        check_ok(xac_send_begin(sender, &request));
        check_code(xac_send_begin(sender, &request), -EBUSY);
        check_code(xac_send_go(sender, &events, &timeout_ms), 0);
        const bool is_held = participants() == before + 2;
        const bool is_late = crew_clock_ns() - begun_ns >= UINT64_C(500000000); /* the machine is that busy */
        check(timeout_ms <= 500 && (is_held || is_late));
        crew_sleep_ms(510);
        check_code(xac_send_go(sender, &events, &timeout_ms), 0);
        check_equal(participants(), before + 1);
        change(2000); /* nobody holds the pages any more */
        check_ok(xac_checkpoint(env));
        change(2000);
        check_ok(pthread_create(&client.thread, NULL, receive, &client));
        while ((result = xac_send_go(sender, &events, &timeout_ms)) == 0)
                crew_sleep_ms(1);
        check_equal(result, 1);
        check_ok(pthread_join(client.thread, NULL));
        check_ok(client.result);
        check_range(client.range, snapshot, &request);
        xac_sender_stat(sender, &stats);
        check_equal(stats.given_up, 1);
        check_ok(xac_snapshot_close(snapshot));
        check_equal(participants(), before);
        xac_range_close(client.range);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

static void a_client_that_never_reads_is_given_up(int way)
{
        const xac_send_options options = { .deadline_ms = 30, .rest_bytes = way % 2 ? 10000 : 0 };
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = (enum xac_send_way)(way / 2) };
        xac_sender *sender;
        int sockets[2];

        open_tree(LARGE); /* more than buffers take */
        change(5000);
        sockets_connect(sockets, 1);
        small_buffers(sockets);
        const uint64_t before = participants();
        open_sender(sockets[0], &options, &sender);
        check_code(xac_send(sender, &request), -ETIMEDOUT);
        check_equal(participants(), before);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

static void a_client_that_is_gone_is_told(int way)
{
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = (enum xac_send_way)(way / 2) };
        xac_sender *sender;
        int sockets[2];

        open_tree(1);
        change(5000);
        sockets_connect(sockets, way % 2 ? OVER_TCP : 0);
        const uint64_t before = participants();
        open_sender(sockets[0], NULL, &sender);
        check_ok(close(sockets[1]));
        int err = 0;
        for (int tries = 0; tries < 100 && !err; tries++)
                err = xac_send(sender, &request);
        check(err == -EPIPE || err == -ECONNRESET);
        check_equal(participants(), before);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        close_tree();
}

/* ---- what cannot be sent ---- */

static void expect_error(xac_sender *sender, struct client *client, const xac_send_request *request, int error)
{
        check_ok(pthread_create(&client->thread, NULL, receive, client));
        check_code(xac_send(sender, request), error);
        check_ok(pthread_join(client->thread, NULL));
        check_code(client->result, error);
}

static void what_cannot_be_sent_is_told_to_both(void)
{
        static const struct {
                xac_send_request request;
                int error;
        } wrong[] = {
                { { .file = "none", .tree = "tree" }, -ENOENT },
                { { .file = "trees", .tree = "none" }, -ENOENT },
                { { .file = "trees", .tree = "" }, -EINVAL },
                { { .tree = "tree" }, -EINVAL },
                { { .file = "trees", .tree = "tree", .from = "x" }, -EINVAL },
                { { .file = "trees", .tree = "tree", .to = "short", .to_len = 5 }, -EINVAL },
                { { .file = "trees", .tree = "tree", .way = XAC_SEND_PAGES, .max_records = 1 }, -EINVAL },
                { { .file = "trees", .tree = "tree", .way = XAC_SEND_PAGES, .max_bytes = 1 }, -EINVAL },
                { { .file = "trees", .tree = "tree", .way = 9 }, -EINVAL },
                { { .file = "trees", .tree = "tree", .reserved = { [6] = 1 } }, -EINVAL },
                { { .file = "trees", .tree = "tree", .sequence = 77777777 }, -ESTALE },
        };
        const xac_send_request good = { .file = "trees", .tree = "tree" };
        struct client client = { .range = NULL };
        xac_sender *sender = NULL;
        int sockets[2];

        open_tree(0);
        change(100);
        sockets_connect(sockets, 0);
        client.socket = sockets[1];
        check_code(xac_sender_open(NULL, sockets[0], NULL, &sender), -EINVAL);
        check_code(xac_sender_open(env, -1, NULL, &sender), -EBADF);
        check_code(xac_sender_open(env, 0, NULL, NULL), -EINVAL);
        check_code(xac_sender_open(env, sockets[0], &(xac_send_options){ .flags = 2 }, &sender), -EINVAL);
        check_code(xac_sender_open(env, sockets[0], &(xac_send_options){ .reserved = { [3] = 1 } }, &sender), -EINVAL);
        check(sender == NULL);
        open_sender(sockets[0], NULL, &sender);
        check_ok(xac_range_open(&client.range));
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
                expect_error(sender, &client, &wrong[i].request, wrong[i].error);
        send_one(sender, &client, &good); /* the connection goes on */
        check(xac_range_next(client.range) == 0);
        check_ok(xac_send_error(sender, -EPERM, "not for you"));
        check_code(xac_range_receive(client.range, sockets[1]), -EPERM);
        check_code(xac_send(sender, NULL), -EINVAL);
        check_code(xac_send(NULL, &good), -EINVAL);
        xac_range_close(client.range);
        xac_sender_close(sender);
        xac_sender_close(NULL);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

/* Several batches are used again then: an error takes one of them. */
static void an_error_may_follow_what_was_sent_without_copies(void)
{
        const xac_send_request good = { .file = "trees", .tree = "tree", .way = XAC_SEND_ZEROCOPY };
        const xac_send_request wrong = { .file = "trees", .tree = "none" };
        struct client client = { .range = NULL };
        xac_sender *sender;
        int sockets[2];

        open_tree(LARGE);
        change(5000);
        sockets_connect(sockets, 1);
        client.socket = sockets[1];
        open_sender(sockets[0], NULL, &sender);
        check_ok(xac_range_open(&client.range));
        for (int i = 0; i < 3; i++) {
                send_one(sender, &client, &good);
                expect_error(sender, &client, &wrong, -ENOENT);
                expect_error(sender, &client, &wrong, -ENOENT);
        }
        xac_range_close(client.range);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

/* To who waits for requests, poll(2) would say again and again what nobody takes off the socket. */
static void nothing_is_left_to_hear_after_a_response(void)
{
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = XAC_SEND_ZEROCOPY };
        struct client client = { .range = NULL };
        int sockets[2];
        xac_sender *sender;

        open_tree(1);
        change(5000);
        sockets_connect(sockets, 1);
        client.socket = sockets[1];
        struct pollfd news = { .fd = sockets[0] };
        open_sender(sockets[0], NULL, &sender);
        check_ok(xac_range_open(&client.range));
        send_one(sender, &client, &request);
        check_equal(poll(&news, 1, 200), 0);
        xac_range_close(client.range);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

static void a_slow_client_gets_a_copy_by_uring(void)
{
        use_uring();
        a_slow_client_gets_a_copy(2 * XAC_SEND_ZEROCOPY + 1);
}

static void a_client_that_never_reads_is_given_up_by_uring(void)
{
        use_uring();
        a_client_that_never_reads_is_given_up(2 * XAC_SEND_ZEROCOPY + 1);
}

static void a_client_that_is_gone_is_told_by_uring(void)
{
        use_uring();
        a_client_that_is_gone_is_told(2 * XAC_SEND_ZEROCOPY + 1);
}

static void an_error_may_follow_what_was_sent_by_uring(void)
{
        use_uring();
        an_error_may_follow_what_was_sent_without_copies();
}

/* poll() does not tell when the kernel is done: one does not wait for it for long. */
static void what_the_kernel_does_by_uring_is_waited_for(void)
{
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = XAC_SEND_ZEROCOPY };
        struct client client = { .range = NULL };
        int sockets[2], events, timeout_ms, sent;
        xac_sender *sender;
        xac_send_stats stats;

        use_uring();
        open_tree(1);
        change(5000);
        sockets_connect(sockets, 1);
        client.socket = sockets[1];
        open_sender(sockets[0], NULL, &sender);
        check_ok(xac_range_open(&client.range));
        check_ok(pthread_create(&client.thread, NULL, receive, &client));
        check_ok(xac_send_begin(sender, &request));
        while (!(sent = xac_send_go(sender, &events, &timeout_ms))) {
                check(events == POLLOUT || timeout_ms <= 1);
                crew_sleep_ms(1);
        }
        check_equal(sent, 1);
        check_ok(pthread_join(client.thread, NULL));
        check_ok(client.result);
        xac_sender_stat(sender, &stats);
        check(stats.zerocopy_sends > 0 && stats.copied_sends == stats.zerocopy_sends);
        xac_range_close(client.range);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(ways, 0, "fixed, Unix"),
                isolated_way(ways, 1, "fixed, TCP"),
                isolated_way(ways, 2, "variable, Unix"),
                isolated_way(ways, 3, "variable, TCP"),
                isolated_way(ways, 4, "large, Unix"),
                isolated_way(ways, 5, "large, TCP"),
                isolated_way(what_has_changed_is_all_that_is_sent, 0, "fixed"),
                isolated_way(what_has_changed_is_all_that_is_sent, 1, "variable"),
                isolated_way(what_has_changed_is_all_that_is_sent, LARGE, "large"),
                isolated_way(a_slow_client_gets_a_copy, 2 * XAC_SEND_COPY, "copy"),
                isolated_way(a_slow_client_gets_a_copy, 2 * XAC_SEND_GATHER, "gather"),
                isolated_way(a_slow_client_gets_a_copy, 2 * XAC_SEND_ZEROCOPY + 1, "zero-copy"),
                isolated_way(a_slow_client_gets_a_copy, 2 * XAC_SEND_PAGES, "pages"),
                isolated_way(a_client_that_never_reads_is_given_up, 2 * XAC_SEND_GATHER, "gather"),
                isolated_way(a_client_that_never_reads_is_given_up, 2 * XAC_SEND_ZEROCOPY, "zero-copy"),
                isolated_way(a_client_that_never_reads_is_given_up, 2 * XAC_SEND_GATHER + 1, "too much"),
                isolated_way(a_client_that_is_gone_is_told, 2 * XAC_SEND_COPY, "copy, Unix"),
                isolated_way(a_client_that_is_gone_is_told, 2 * XAC_SEND_GATHER + 1, "gather, TCP"),
                isolated_way(a_client_that_is_gone_is_told, 2 * XAC_SEND_ZEROCOPY + 1, "zero-copy, TCP"),
                isolated_test(what_cannot_be_sent_is_told_to_both),
                isolated_test(an_error_may_follow_what_was_sent_without_copies),
                isolated_test(nothing_is_left_to_hear_after_a_response),
                isolated_way(ways_by_uring, 0, "fixed"),
                isolated_way(ways_by_uring, 1, "variable"),
                isolated_way(ways_by_uring, LARGE, "large"),
                isolated_test(a_slow_client_gets_a_copy_by_uring),
                isolated_test(a_client_that_never_reads_is_given_up_by_uring),
                isolated_test(a_client_that_is_gone_is_told_by_uring),
                isolated_test(an_error_may_follow_what_was_sent_by_uring),
                isolated_test(what_the_kernel_does_by_uring_is_waited_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
