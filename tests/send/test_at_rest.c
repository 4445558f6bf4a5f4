/* SPDX-License-Identifier: MIT */

/*
 * Responses from an environment that is open at rest (XAC_RDONLY). Who may only read it keeps nobody from writing to
 * it, so what has been sent may be of two moments. Then the response ends with an error, whichever way it is sent.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xac/send.h>
#include <xac/tree.h>

#include "send/send_format.h"
#include "tests/send/sockets.h"
#include "tests/send/stream.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

/* More than sockets take. */
enum { RECORDS = 60000, VALUE_BYTES = 200 };

static void make_environment(void)
{
        const xac_tree_options records = { .key_bytes = 8, .value_bytes = VALUE_BYTES };
        static char value[VALUE_BYTES];
        xac_arena *arena;
        xac_tree *tree;
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, &records, &tree));
        check_ok(xbegin(env, 0));
        for (uint64_t i = 0; i < RECORDS; i++)
                check_ok(xac_tree_put(tree, &i, sizeof(i), value, sizeof(value), 0));
        check_ok(xend(env));
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

/* As the first step of who writes does: the manifest becomes another one. */
static void begin_to_write(void)
{
        const char byte = 1;
        const int fd = open(scratch_path("env/xac.manifest"), O_WRONLY | O_CLOEXEC);
        const off_t end = lseek(fd, 0, SEEK_END);

        check(fd >= 0 && end > 0);
        check_equal(pwrite(fd, &byte, sizeof(byte), end - 1), sizeof(byte));
        close(fd);
}

/* What has come so far. */
static void take(int socket, struct stream *taken)
{
        static char bytes[1 << 16];

        for (ssize_t some; (some = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;)
                stream_add(taken, bytes, (size_t)some);
}

static uint32_t kind_of_last_frame(const struct stream *taken, int32_t *error)
{
        struct send_frame frame = { 0 };
        uint32_t number;

        for (size_t at = 0; at < taken->len; at += sizeof(frame) + frame.byte_len) {
                check(taken->len - at >= sizeof(frame));
                memcpy(&frame, taken->bytes + at, sizeof(frame));
                frame = send_frame_order(frame);
                check(taken->len - at - sizeof(frame) >= frame.byte_len);
                if (frame.kind != SEND_ERROR)
                        continue;
                memcpy(&number, taken->bytes + at + sizeof(frame), sizeof(number));
                *error = (int32_t)send_u32(number);
        }
        return frame.kind;
}

/* The last frame of a response; in the middle of it somebody begins to write, or nobody does. */
static uint32_t respond(xac_env *env, enum xac_send_way way, int is_written, int32_t *error)
{
        const xac_send_options options = { .zerocopy_bytes = 1, .gather_bytes = 1 };
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = way };
        struct stream taken = { 0 };
        int sockets[2], events, timeout_ms;
        xac_sender *sender;

        sockets_connect(sockets, 1);
        check_ok(xac_sender_open(env, sockets[0], &options, &sender));
        check_ok(xac_send_begin(sender, &request));
        int result = xac_send_go(sender, &events, &timeout_ms);
        check_equal(result, 0);
        if (is_written)
                begin_to_write();
        while (!result) {
                take(sockets[1], &taken);
                result = xac_send_go(sender, &events, &timeout_ms);
        }
        check_equal(result, 1);
        take(sockets[1], &taken);
        const uint32_t kind = kind_of_last_frame(&taken, error);
        xac_sender_close(sender);
        stream_free(&taken);
        close(sockets[0]);
        close(sockets[1]);
        return kind;
}

static void nothing_of_two_moments_passes(int way)
{
        int32_t error = 0;
        xac_env *env;

        make_environment();
        check_ok(xac_open(scratch_path("env"), XAC_RDONLY, NULL, &env));
        check_equal(respond(env, (enum xac_send_way)way, 0, &error), SEND_END);
        check_equal(respond(env, (enum xac_send_way)way, 1, &error), SEND_ERROR);
        check_equal(error, -ESTALE);
        check_ok(xac_close(env));
}

static void a_snapshot_says_what_it_is(void)
{
        xac_snapshot *snapshot;
        xac_env *env;

        make_environment();
        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_equal(xac_snapshot_check(snapshot), 0);
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_close(env));
        check_ok(xac_open(scratch_path("env"), XAC_RDONLY, NULL, &env));
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_equal(xac_snapshot_check(snapshot), 1);
        begin_to_write();
        check_code(xac_snapshot_check(snapshot), -ESTALE);
        check_code(xac_snapshot_close(snapshot), -ESTALE);
        check_ok(xac_close(env));
        check_code(xac_snapshot_check(NULL), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_snapshot_says_what_it_is),
                isolated_way(nothing_of_two_moments_passes, XAC_SEND_AUTO, "auto"),
                isolated_way(nothing_of_two_moments_passes, XAC_SEND_COPY, "copy"),
                isolated_way(nothing_of_two_moments_passes, XAC_SEND_GATHER, "gather"),
                isolated_way(nothing_of_two_moments_passes, XAC_SEND_ZEROCOPY, "zerocopy"),
                isolated_way(nothing_of_two_moments_passes, XAC_SEND_PAGES, "pages"),
        };

        return cmocka_run_group_tests_name("at_rest", tests, NULL, NULL);
}
