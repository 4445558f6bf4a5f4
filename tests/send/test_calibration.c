/* SPDX-License-Identifier: MIT */
#include <xac/send.h>

/*
 * The sizes from which on pieces are shown to the kernel: what XAC_SEND_AUTO makes of them, how they are measured, and
 * the file in which they are kept.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/send/sockets.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { SMALL = 40, LARGE = 700, RECORDS = 500 };

/* ---- a peer that drops everything ---- */

struct peer {
        int sockets[2];
        pthread_t thread;
};

static void *drain(void *peer_)
{
        const struct peer *peer = peer_;
        static char bytes[65536];

        while (read(peer->sockets[1], bytes, sizeof(bytes)) > 0)
                ;
        return NULL;
}

static void open_peer(struct peer *peer, int is_tcp)
{
        sockets_connect(peer->sockets, is_tcp);
        check_ok(pthread_create(&peer->thread, NULL, drain, peer));
}

static void close_peer(struct peer *peer)
{
        check_ok(shutdown(peer->sockets[0], SHUT_WR));
        check_ok(pthread_join(peer->thread, NULL));
        check_ok(close(peer->sockets[0]));
        check_ok(close(peer->sockets[1]));
}

/* ---- what is done with them ---- */

/* Every fourth record is large. */
static void fill(xac_env *env)
{
        static const char value[LARGE];
        xac_arena *arena;
        xac_tree *tree;

        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        for (unsigned i = 0; i < RECORDS; i++) {
                const unsigned char key[2] = { (unsigned char)(i >> 8), (unsigned char)i };

                check_ok(xac_tree_put(tree, key, sizeof(key), value, i % 4 ? SMALL : LARGE, 0));
        }
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

static uint64_t packed(xac_env *env, uint32_t gather_bytes)
{
        const xac_send_options options = { .gather_bytes = gather_bytes };
        const xac_send_request request = { .file = "trees", .tree = "tree" };
        struct peer peer;
        xac_sender *sender;
        xac_send_stats stats;

        open_peer(&peer, 0);
        check_ok(xac_sender_open(env, peer.sockets[0], &options, &sender));
        check_ok(xac_send(sender, &request));
        xac_sender_stat(sender, &stats);
        xac_sender_close(sender);
        close_peer(&peer);
        check_equal(stats.records, RECORDS);
        return stats.packed_bytes;
}

static void small_pieces_are_packed_and_large_ones_shown(void)
{
        enum { KEY = 2, ALL_SMALL = RECORDS * 3 / 4 * (KEY + SMALL), ALL_LARGE = RECORDS / 4 * (KEY + LARGE) };
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        fill(env);
        const uint64_t frames = packed(env, 1); /* beginning and end; nothing else is copied */
        check(frames < 200);
        check_equal(packed(env, KEY + SMALL), frames);
        check_equal(packed(env, KEY + SMALL + 1), frames + ALL_SMALL);
        check_equal(packed(env, KEY + LARGE), frames + ALL_SMALL);
        check_equal(packed(env, UINT32_MAX), frames + ALL_SMALL + ALL_LARGE);
        check_ok(xac_close(env));
}

/* ---- measuring ---- */

static void sizes_are_measured(int is_tcp)
{
        xac_send_options options = { .deadline_ms = 7 };
        struct peer peer;

        open_peer(&peer, is_tcp);
        check_ok(xac_send_calibrate(peer.sockets[0], 1, &options));
        close_peer(&peer);
        check(options.gather_bytes > 0);
        check_equal(options.zerocopy_bytes, UINT32_MAX); /* the kernel copies all that stays on this machine */
        check_equal(options.deadline_ms, 7);
}

static void what_cannot_be_measured_is_an_error(void)
{
        xac_send_options options = { .gather_bytes = 5 };
        struct peer peer;
        int ends[2];

        open_peer(&peer, 0);
        check_code(xac_send_calibrate(peer.sockets[0], 1, NULL), -EINVAL);
        check_code(xac_send_calibrate(peer.sockets[0], 1, &(xac_send_options){ .reserved = { [3] = 1 } }), -EINVAL);
        check_ok(shutdown(peer.sockets[1], SHUT_RD));
        check_code(xac_send_calibrate(peer.sockets[0], 1, &options), -EPIPE);
        check_equal(options.gather_bytes, 5);
        close_peer(&peer);
        check_ok(pipe(ends));
        check_code(xac_send_calibrate(ends[1], 1, &options), -ENOTSOCK);
        check_ok(close(ends[0]));
        check_ok(close(ends[1]));
}

/* ---- the file ---- */

static void write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "w");

        check(file != NULL);
        check(fputs(text, file) >= 0);
        check_ok(fclose(file));
}

static void check_read(const char *path, const struct peer *peer, uint32_t gather, uint32_t zerocopy)
{
        xac_send_options options = { .gather_bytes = 11, .zerocopy_bytes = 12 };

        check_ok(xac_send_options_read(path, peer->sockets[0], &options));
        check_equal(options.gather_bytes, gather);
        check_equal(options.zerocopy_bytes, zerocopy);
}

static void each_kind_of_socket_has_a_line(void)
{
        const char *path = scratch_path("calibration");
        xac_send_options options = { .gather_bytes = 300, .zerocopy_bytes = UINT32_MAX };
        struct peer local, tcp;

        open_peer(&local, 0);
        open_peer(&tcp, 1);
        check_code(xac_send_options_read(path, local.sockets[0], &options), -ENOENT);
        check_ok(xac_send_options_write(path, local.sockets[0], &options));
        check_read(path, &local, 300, UINT32_MAX);
        check_read(path, &tcp, 11, 12);
        options.zerocopy_bytes = 9000;
        check_ok(xac_send_options_write(path, tcp.sockets[0], &options));
        options.gather_bytes = 400;
        check_ok(xac_send_options_write(path, local.sockets[0], &options));
        check_read(path, &local, 400, 9000);
        check_read(path, &tcp, 300, 9000);
        options.gather_bytes = 0;
        check_code(xac_send_options_write(path, tcp.sockets[0], &options), -EINVAL);
        options = (xac_send_options){ .gather_bytes = 1, .zerocopy_bytes = 1, .reserved = { [3] = 1 } };
        check_code(xac_send_options_write(path, tcp.sockets[0], &options), -EINVAL);
        check_code(xac_send_options_read(path, tcp.sockets[0], &options), -EINVAL);
        check_read(path, &tcp, 300, 9000);
        close_peer(&local);
        close_peer(&tcp);
}

static void other_files_are_told_apart(void)
{
        static const char *const wrong[] = { "unix gather 300\n",
                                             "unix gather 300 zerocopy never more\n",
                                             "unix gather 0 zerocopy never\n",
                                             "unix gather -3 zerocopy never\n",
                                             "unix gather 3x zerocopy never\n",
                                             "unix gather 5000000000 zerocopy never\n",
                                             "\177ELF" };
        const char *path = scratch_path("calibration");
        xac_send_options options = { .gather_bytes = 300, .zerocopy_bytes = 301 };
        struct peer peer;

        open_peer(&peer, 0);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                write_file(path, wrong[i]);
                check_code(xac_send_options_read(path, peer.sockets[0], &options), XAC_FORMAT);
                check_code(xac_send_options_write(path, peer.sockets[0], &options), XAC_FORMAT);
                check_equal(options.gather_bytes, 300);
        }
        write_file(path, "# words\n\n  unix  gather 7 zerocopy never\r\nmars gather 8 zerocopy 9\n");
        check_read(path, &peer, 7, UINT32_MAX);
        check_ok(xac_send_options_write(path, peer.sockets[0], &options));
        check_read(path, &peer, 300, 301);
        close_peer(&peer);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(small_pieces_are_packed_and_large_ones_shown),
                isolated_way(sizes_are_measured, 0, "Unix"),
                isolated_way(sizes_are_measured, 1, "TCP"),
                isolated_test(what_cannot_be_measured_is_an_error),
                isolated_test(each_kind_of_socket_has_a_line),
                isolated_test(other_files_are_told_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
