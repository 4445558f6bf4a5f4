/* SPDX-License-Identifier: MIT */
#include <xac/send.h>

/* What one client may cost: what is noted down of it, and copies, have one bound (rest_bytes). */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/send/sockets.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum {
        RECORDS = 40000, /* in more than 300 leaves */
        VALUE_BYTES = 24,
        RECORD_BYTES = 8 + VALUE_BYTES,
        SHARE = 16384, /* of which bases of 153 leaves are a part */
        FEW = 10000    /* records of less leaves than that */
};

static xac_env *env;
static xac_arena *arena;
static xac_tree *tree;
static int sockets[2];
static xac_sender *sender;
static xac_range *range;

static void make_key(uint32_t number, unsigned char key[8])
{
        memset(key, 0, 8);
        for (int i = 7; number; number >>= 8)
                key[i--] = (unsigned char)number;
}

static void open_all(const xac_send_options *options)
{
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = VALUE_BYTES };
        const char value[VALUE_BYTES] = "value";
        unsigned char key[8];

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, &fixed, &tree));
        check_ok(xbegin(env, 0));
        for (uint32_t i = 0; i < RECORDS; i++) {
                make_key(i, key);
                check_ok(xac_tree_put(tree, key, sizeof(key), value, sizeof(value), 0));
        }
        check_ok(xend(env));
        sockets_connect(sockets, 0);
        check_ok(xac_sender_open(env, sockets[0], options, &sender));
        check_ok(xac_range_open(&range));
}

static void close_all(void)
{
        xac_range_close(range);
        xac_sender_close(sender);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

static void *receive(void *unused)
{
        (void)unused;
        check_ok(xac_range_receive(range, sockets[1]));
        return NULL;
}

/* Asks for the same twice: how many pages came, and how many were kept, the second time. */
static void ask_twice(uint32_t to, uint64_t *pages, uint64_t *kept)
{
        unsigned char key[8];
        xac_send_stats before = { 0 }, after;
        pthread_t thread;

        make_key(to, key);
        for (int i = 0; i < 2; i++) {
                const xac_send_request request = { .file = "trees",
                                                   .tree = "tree",
                                                   .to = key,
                                                   .to_len = sizeof(key),
                                                   .way = XAC_SEND_PAGES,
                                                   .base_sequence = xac_range_sequence(range) };

                xac_sender_stat(sender, &before);
                check_ok(pthread_create(&thread, NULL, receive, NULL));
                check_ok(xac_send(sender, &request));
                check_ok(pthread_join(thread, NULL));
        }
        xac_sender_stat(sender, &after);
        *pages = after.pages - before.pages;
        *kept = after.kept - before.kept;
}

static uint64_t participants(void)
{
        xac_stats stats;

        check_ok(xac_stat(env, &stats));
        return stats.participants;
}

/* A client that has more leaves than its share has room for gets all of them again, and holds no snapshot. */
static void a_base_is_within_the_share(void)
{
        const xac_send_options options = { .rest_bytes = SHARE };
        uint64_t pages, kept;

        open_all(&options);
        const uint64_t before = participants();
        ask_twice(FEW, &pages, &kept);
        check(!pages && kept);
        check_equal(participants(), before + 1);
        xac_range_close(range);
        check_ok(xac_range_open(&range));
        ask_twice(RECORDS, &pages, &kept);
        check(pages && !kept);
        check_equal(participants(), before);
        ask_twice(FEW, &pages, &kept);
        check(!pages && kept);
        close_all();
}

/* Copies alone would fit, but not beside the plan of the leaves that come next. */
static void a_plan_is_within_the_share(void)
{
        const xac_send_options options = { .rest_bytes = RECORDS * RECORD_BYTES + 1000, .deadline_ms = 1 };
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = XAC_SEND_GATHER };
        const int bytes = 1;
        int events, timeout_ms, result = 0;

        open_all(&options);
        check_ok(setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)));
        check_ok(xac_send_begin(sender, &request));
        for (int i = 0; i < 2 && !result; i++) {
                result = xac_send_go(sender, &events, &timeout_ms);
                crew_sleep_ms(5);
        }
        check_code(result, -ETIMEDOUT);
        close_all();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_base_is_within_the_share),
                isolated_test(a_plan_is_within_the_share),
        };

        return cmocka_run_group_tests_name("shares of clients", tests, NULL, NULL);
}
