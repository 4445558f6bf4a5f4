/* SPDX-License-Identifier: MIT */

/*
 * Ranges are sent while writers change the tree: what a client has got is what the snapshot has, byte by byte, or the
 * connection broke.
 *
 * Writers and servers are processes. A server connects to one client after the other, sends it a few ranges as of a
 * snapshot that it holds, by ways, bounds and limits by chance, and compares a sum of what the client has received with
 * one of what the snapshot has. Some clients are killed in the middle, some stop reading, some hang up. In the end
 * every snapshot is given back, and so is all of the pool but what the tree needs.
 *
 *      history [--ranges N] [--writers N] [--servers N] [--seed N]
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/send.h>

#include "tests/send/sockets.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum {
        KEYS = 3000,
        KEY_ROOM = 40,
        VALUE_ROOM = 20000,
        TREES = 2,
        TREE_BYTES = 8 << 20, /* more than both need, with all that waits to be reclaimed */
        RANGES_MAX = 12,      /* of one client */
        DEADLINE_MS = 60
};

static const char *const tree_names[TREES] = { "fixed", "any" };
static const xac_tree_options tree_options[TREES] = { { .key_bytes = 8, .value_bytes = 32 }, { .key_bytes = 0 } };

static struct {
        uint64_t ranges, writers, servers;
} options = { 1500, 4, 2 };

/* What processes have in common. */
static struct common {
        _Atomic bool has_ended;
        _Atomic uint64_t ranges, broken, commits;
} * common;

/* ---- an environment, by each process ---- */

struct desk {
        struct chance chance;
        xac_env *env;
        xac_arena *arena;
        xac_tree *trees[TREES];
};

static void desk_open(struct desk *desk, uint64_t number)
{
        desk->chance.state = chance_seed() + number * 7919;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &desk->env));
        check_ok(xac_arena_open_env(desk->env, "trees", XAC_ARENA_DECLARED, &desk->arena));
        for (int i = 0; i < TREES; i++)
                check_ok(xac_tree_open(desk->arena, tree_names[i], XAC_TREE_CREATE, &tree_options[i], &desk->trees[i]));
}

static void desk_close(struct desk *desk)
{
        for (int i = 0; i < TREES; i++)
                xac_tree_close(desk->trees[i]);
        check_ok(xac_arena_close(desk->arena));
        check_ok(xac_close(desk->env));
}

static uint64_t below(struct desk *desk, uint64_t bound)
{
        return chance_below(&desk->chance, bound);
}

static size_t make_key(int tree, uint64_t number, unsigned char *key)
{
        memset(key, 0, KEY_ROOM);
        key[tree ? 0 : 6] = (unsigned char)(number >> 8);
        key[tree ? 1 : 7] = (unsigned char)number;
        return tree ? 2 + number % (KEY_ROOM - 2) : 8;
}

/* ---- writers ---- */

struct changing {
        struct desk *desk;
        unsigned count;
};

static int change(void *changing_)
{
        struct changing *changing = changing_;
        struct desk *desk = changing->desk;
        static unsigned char value[VALUE_ROOM];
        unsigned char key[KEY_ROOM];

        for (unsigned i = 0; i < changing->count; i++) {
                const int tree = (int)below(desk, TREES);
                const size_t key_len = make_key(tree, below(desk, KEYS), key);
                const size_t value_len = tree ? below(desk, below(desk, 50) ? 200 : VALUE_ROOM) : 32;
                int err;

                memset(value, (int)below(desk, 256), value_len);
                err = below(desk, 3) ? xac_tree_put(desk->trees[tree], key, key_len, value, value_len, 0)
                                     : xac_tree_delete(desk->trees[tree], key, key_len);
                if (err && err != -ENOENT)
                        return err;
        }
        return 0;
}

static void be_writer(int number, void *unused)
{
        struct desk desk;

        (void)unused;
        desk_open(&desk, 100 + (uint64_t)number);
        while (!atomic_load(&common->has_ended)) {
                struct changing changing = { &desk, 1 + (unsigned)below(&desk, 4) };
                int err = xac_run(desk.env, 0, change, &changing);

                check(err == 0 || err == XAC_FULL);
                atomic_fetch_add(&common->commits, 1);
                if (!below(&desk, 300))
                        check_ok(xac_checkpoint(desk.env));
        }
        desk_close(&desk);
}

/* ---- sums ---- */

static void add_bytes(uint64_t *sum, const void *bytes, size_t byte_len)
{
        for (size_t i = 0; i < byte_len; i++)
                *sum = (*sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
}

static void add_record(uint64_t *sum, const xac_tree_record *record)
{
        add_bytes(sum, &record->key_len, sizeof(record->key_len));
        add_bytes(sum, record->key, record->key_len);
        add_bytes(sum, &record->value_len, sizeof(record->value_len));
        add_bytes(sum, record->value, record->value_len);
}

struct summing {
        xac_tree *tree;
        uint64_t sum, left;
};

static int add(void *summing_, const xac_tree_record *record)
{
        struct summing *summing = summing_;
        static unsigned char value[VALUE_ROOM];
        xac_tree_record whole = *record;
        size_t len;

        check_ok(xac_tree_get(summing->tree, record->key, record->key_len, value, sizeof(value), &len));
        check_equal(len, record->value_len);
        whole.value = value;
        add_record(&summing->sum, &whole);
        return --summing->left == 0;
}

static uint64_t sum_of_snapshot(xac_snapshot *snapshot, const xac_send_request *request)
{
        struct summing summing = { .left = request->max_records ? request->max_records : UINT64_MAX };
        xac_arena *arena;

        check_ok(xac_arena_open_snapshot(snapshot, "trees", &arena));
        check_ok(xac_tree_open(arena, request->tree, 0, NULL, &summing.tree));
        check(xac_tree_scan(summing.tree, request->from, request->from_len, request->to, request->to_len, add,
                            &summing) >= 0);
        xac_tree_close(summing.tree);
        check_ok(xac_arena_close(arena));
        return summing.sum;
}

/* ---- clients ---- */

enum manner { GOOD, KILLED, STALLED, HANGS_UP, MANNERS };

struct client {
        int socket, server; /* both ends */
        int told;           /* a pipe: the sum of each range */
        enum manner manner;
        uint64_t ranges, after; /* the manner shows in this one */
};

static uint64_t sum_of_range(xac_range *range)
{
        xac_tree_record record;
        uint64_t sum = 0;

        while (!xac_range_next(range)) {
                check_ok(xac_range_record(range, &record));
                add_record(&sum, &record);
        }
        return sum;
}

/* Reads only some of it. */
static void misbehave(const struct client *client)
{
        char bytes[20000];

        (void)!read(client->socket, bytes, sizeof(bytes));
        if (client->manner == KILLED)
                check_ok(kill(getpid(), SIGKILL));
        if (client->manner == STALLED)
                crew_sleep_ms(5 * DEADLINE_MS);
        crew_exit(0);
}

static void be_client(int unused, void *client_)
{
        const struct client *client = client_;
        xac_range *range;

        (void)unused;
        check_ok(close(client->server)); /* so that the server's end of the connection is an end for this side too */
        check_ok(xac_range_open(&range));
        for (uint64_t i = 0; i < client->ranges; i++) {
                if (client->manner != GOOD && i == client->after)
                        misbehave(client);
                const int err = xac_range_receive(range, client->socket);
                if (err == -ECONNRESET && client->manner != GOOD)
                        break; /* on a busy machine it is late before it misbehaves */
                check_ok(err);
                const uint64_t sum = sum_of_range(range);
                check(write(client->told, &sum, sizeof(sum)) == sizeof(sum));
        }
        xac_range_close(range);
}

/* ---- servers ---- */

struct bounds {
        unsigned char from[KEY_ROOM], to[KEY_ROOM];
};

static xac_send_request choose_request(struct desk *desk, struct bounds *bounds)
{
        const int tree = (int)below(desk, TREES);
        const uint64_t from = below(desk, KEYS);
        xac_send_request request = { .file = "trees", .tree = tree_names[tree] };

        if (below(desk, 4)) {
                request.from = bounds->from;
                request.from_len = make_key(tree, from, bounds->from);
        }
        if (below(desk, 4)) {
                request.to = bounds->to;
                request.to_len = make_key(tree, from + below(desk, KEYS - from), bounds->to);
        }
        request.way = (enum xac_send_way)below(desk, XAC_SEND_PAGES + 1);
        if (request.way != XAC_SEND_PAGES && !below(desk, 4))
                request.max_records = 1 + below(desk, 1000);
        return request;
}

/* One response; false: the connection broke. */
static bool serve_one(struct desk *desk, xac_sender *sender, const struct client *client, xac_send_request *request)
{
        xac_snapshot *snapshot;
        uint64_t sum = 0;

        check_ok(xac_snapshot_open(desk->env, 0, &snapshot));
        request->sequence = xac_snapshot_sequence(snapshot);
        int err = xac_send(sender, request);
        check(err == 0 || (client->manner != GOOD && (err == -EPIPE || err == -ECONNRESET || err == -ETIMEDOUT)));
        const bool is_told = !err && read(client->told, &sum, sizeof(sum)) == sizeof(sum);
        check(is_told || client->manner != GOOD);
        if (is_told)
                check_equal(sum, sum_of_snapshot(snapshot, request));
        check_ok(xac_snapshot_close(snapshot));
        return is_told;
}

static void serve_client(struct desk *desk, int socket, const struct client *client)
{
        const xac_send_options slow = { .deadline_ms = DEADLINE_MS };
        struct bounds bounds;
        xac_send_request request = choose_request(desk, &bounds);
        xac_sender *sender;
        uint64_t i = 0;

        check_ok(xac_sender_open(desk->env, socket, client->manner == GOOD ? NULL : &slow, &sender));
        for (; i < client->ranges && serve_one(desk, sender, client, &request); i++) {
                request.base_sequence = request.sequence;
                if (below(desk, 2))
                        request = choose_request(desk, &bounds);
        }
        atomic_fetch_add(&common->ranges, i);
        atomic_fetch_add(&common->broken, i < client->ranges);
        xac_sender_close(sender);
}

static void meet_client(struct desk *desk)
{
        struct client client = { .manner = below(desk, 3) ? GOOD : (enum manner)below(desk, MANNERS) };
        int sockets[2], told[2];

        sockets_connect(sockets, below(desk, 2) > 0);
        check_ok(pipe(told));
        client.ranges = 1 + below(desk, RANGES_MAX);
        client.after = below(desk, client.ranges);
        client.server = sockets[0];
        client.socket = sockets[1];
        client.told = told[1];
        pid_t pid = crew_fork(be_client, 0, &client);
        check_ok(close(sockets[1]));
        check_ok(close(told[1]));
        client.told = told[0];
        serve_client(desk, sockets[0], &client);
        check_ok(close(sockets[0]));
        check_ok(close(told[0]));
        const int status = crew_status(pid);
        check(status == 0 || (client.manner == KILLED && WIFSIGNALED(status)));
}

static void be_server(int number, void *unused)
{
        struct desk desk;

        (void)unused;
        desk_open(&desk, 200 + (uint64_t)number);
        while (atomic_load(&common->ranges) < options.ranges)
                meet_client(&desk);
        desk_close(&desk);
}

/* ---- all of it ---- */

/* All that is pinned is what the newest versions need. */
static void check_all_is_given_back(struct desk *desk)
{
        xac_stats stats;
        xac_tree_report report;

        check_ok(xac_checkpoint(desk->env));
        check_ok(xac_stat(desk->env, &stats));
        check_equal(stats.participants, 1);
        check(stats.pool_bytes_used < TREE_BYTES);
        check_ok(xac_tree_check(desk->arena, &report));
}

static void run(int unused, void *nothing)
{
        pid_t writers[16] = { 0 }, servers[16] = { 0 };
        struct desk desk;

        (void)unused;
        (void)nothing;
        desk_open(&desk, 1);
        for (uint64_t i = 0; i < options.writers; i++)
                writers[i] = crew_fork(be_writer, (int)i, NULL);
        for (uint64_t i = 0; i < options.servers; i++)
                servers[i] = crew_fork(be_server, (int)i, NULL);
        for (uint64_t i = 0; i < options.servers; i++)
                crew_join(servers[i]);
        atomic_store(&common->has_ended, true);
        for (uint64_t i = 0; i < options.writers; i++)
                crew_join(writers[i]);
        check_all_is_given_back(&desk);
        desk_close(&desk);
        printf("history: %" PRIu64 " ranges received as of their snapshots, %" PRIu64 " connections broken, %" PRIu64
               " commits, 0 differences\n",
               atomic_load(&common->ranges), atomic_load(&common->broken), atomic_load(&common->commits));
}

int main(int argc, char **argv)
{
        const struct program_option known[] = {
                { .name = "ranges", .number = &options.ranges },
                { .name = "writers", .number = &options.writers },
                { .name = "servers", .number = &options.servers },
                { .name = NULL },
        };

        program_options(argc, argv, known);
        check(options.writers <= 16 && options.servers <= 16);
        program_begin(false);
        common = crew_shared(sizeof(*common));
        return program_run(run, NULL);
}
