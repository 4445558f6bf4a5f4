/* SPDX-License-Identifier: MIT */

/*
 * Nothing that the libraries above libxac open is descriptor 0, 1 or 2: arenas of all kinds, trees, tables with a
 * shortcut, heaps, senders by either way without copies, calibrations (tests/libxac/test_descriptors.c for libxac).
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <xac/heap.h>
#include <xac/rewire.h>
#include <xac/send.h>
#include <xac/tree.h>

#include "tests/send/sockets.h"
#include "tests/support/check.h"
#include "tests/support/closed.h"
#include "tests/support/scratch.h"

enum { RECORDS = 300, ARENA_BYTES = 1 << 24 };

static void fill(xac_arena *arena)
{
        const xac_tree_options records = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree *tree;

        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, &records, &tree));
        for (uint64_t i = 0; i < RECORDS; i++)
                check_ok(xac_tree_put(tree, &i, sizeof(i), &i, sizeof(i), 0));
        xac_tree_close(tree);
        closed_check("xac_tree_put");
}

static const xac_tree_options of_cob = { .kind = XAC_TREE_COBTREE }, of_hash = { .kind = XAC_TREE_HASH };

static void fill_other_trees(xac_arena *arena)
{
        xac_tree *cob;
        xac_tree *table;

        check_ok(xac_tree_open(arena, "cob", XAC_TREE_CREATE, &of_cob, &cob));
        check_ok(xac_tree_open(arena, "table", XAC_TREE_CREATE, &of_hash, &table));
        closed_check("xac_tree_open, of two kinds");
        for (uint64_t i = 0; i < RECORDS; i++) {
                check_ok(xac_tree_put(cob, &i, sizeof(i), &i, sizeof(i), 0));
                check_ok(xac_tree_put(table, &i, sizeof(i), &i, sizeof(i), 0));
        }
        closed_check("xac_tree_put");
        xac_tree_close(cob);
        xac_tree_close(table);
}

static void use_rewired_memory(void)
{
        xac_arena *arena;
        xac_tree *table;

        check_ok(xac_arena_open_rewired(ARENA_BYTES, 0, &arena));
        closed_check("xac_arena_open_rewired");
        check_ok(xac_tree_open(arena, "table", XAC_TREE_CREATE | XAC_TREE_SHORTCUT_ALWAYS, &of_hash, &table));
        for (uint64_t i = 0; i < RECORDS; i++)
                check_ok(xac_tree_put(table, &i, sizeof(i), &i, sizeof(i), 0));
        closed_check("xac_tree_open with a shortcut");
        xac_tree_close(table);
        check_ok(xac_arena_close(arena));
}

static void use_file(void)
{
        xac_arena *arena;

        check_ok(xac_arena_open_file(scratch_path("file"), ARENA_BYTES, 0, &arena));
        closed_check("xac_arena_open_file");
        fill(arena);
        check_ok(xac_arena_close(arena));
}

static void use_heap(xac_env *env)
{
        xac_heap *heap;

        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        closed_check("xac_heap_open");
        check_ok(xac_heap_close(heap));
}

/* One response, which the socket has room for. */
static void send_by(xac_env *env, const int sockets[2], int flags)
{
        const xac_send_options options = { .zerocopy_bytes = 1, .gather_bytes = 1, .flags = flags };
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = XAC_SEND_ZEROCOPY };
        xac_sender *sender;
        xac_range *range;
        int err = xac_sender_open(env, sockets[0], &options, &sender);

        if (flags && (err == -ENOTSUP || err == -EPERM || err == -ENOSYS))
                return;
        check_ok(err);
        closed_check("xac_sender_open");
        check_ok(xac_send(sender, &request));
        closed_check("xac_send");
        check_ok(xac_range_open(&range));
        check_ok(xac_range_receive(range, sockets[1]));
        xac_range_close(range);
        xac_sender_close(sender);
}

static void keep_calibration(int socket)
{
        xac_send_options options = { .gather_bytes = 4711, .zerocopy_bytes = 4712 };

        for (int i = 0; i < 2; i++) {
                check_ok(xac_send_options_write(scratch_path("calibration"), socket, &options));
                closed_check("xac_send_options_write");
                check_ok(xac_send_options_read(scratch_path("calibration"), socket, &options));
                closed_check("xac_send_options_read");
        }
}

static void live(int closed)
{
        int sockets[2];
        xac_arena *arena;
        xac_env *env;

        sockets_connect(sockets, 1);
        closed_begin();
        closed_close(closed);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        closed_check("xac_arena_open_env");
        fill(arena);
        fill_other_trees(arena);
        use_heap(env);
        send_by(env, sockets, 0);
        send_by(env, sockets, XAC_SEND_URING);
        keep_calibration(sockets[0]);
        use_rewired_memory();
        use_file();
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
        closed_check("xac_close");
        closed_end();
}

int main(void)
{
        const struct CMUnitTest tests[] = { closed_each(live) };

        return cmocka_run_group_tests_name("send/descriptors", tests, NULL, NULL);
}
