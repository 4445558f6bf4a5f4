/* SPDX-License-Identifier: MIT */

/*
 * sender: a sequence of requests on one connection, each any bytes that can be a request, while trees change in between
 * and snapshots are given up. What is sent goes to a receiver that expects an answer to the request: it takes it, and
 * has what the tree has.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xac/send.h>

#include "send/send_request.h"
#include "send/sender.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_target[] = "sender";

enum {
        STEPS = 40,
        TREES = 2,
        KEYS = 300,
        VALUE_ROOM = 3000, /* more than half of a page: some lie in overflow pages */
        FIXED_VALUE = 24,
        TURNS = 100000,
        CHUNK = 65536
};

static const char *const tree_names[TREES] = { "cells", "rows" };

static xac_env *env;
static xac_arena *arena;
static xac_tree *trees[TREES];

/* The client's side. */
static int sockets[2];
static xac_sender *sender;
static xac_range *range;
static struct send_decoded kept;
static bool is_closed; /* too much of a response was left when its snapshot was given up */

/* ---- trees ---- */

static size_t make_key(unsigned tree, unsigned number, unsigned char key[8])
{
        memset(key, 0, 8);
        key[tree ? 6 : 0] = (unsigned char)(number >> 8);
        key[tree ? 7 : 1] = (unsigned char)number;
        return tree ? 8 : 2 + number % 6;
}

static void put(unsigned tree, unsigned number, size_t value_len, uint8_t filling)
{
        static unsigned char value[VALUE_ROOM];
        unsigned char key[8];
        const size_t key_len = make_key(tree, number % KEYS, key);

        memset(value, filling, sizeof(value));
        fuzz_check(!xac_tree_put(trees[tree], key, key_len, value, tree ? FIXED_VALUE : value_len % VALUE_ROOM, 0));
}

static void close_all(void)
{
        for (unsigned tree = 0; tree < TREES; tree++)
                xac_tree_close(trees[tree]);
        fuzz_check(!xac_arena_close(arena));
        fuzz_check(!xac_close(env));
}

static void open_all(void)
{
        static const xac_tree_options options[TREES] = { { .key_bytes = 0 },
                                                         { .key_bytes = 8, .value_bytes = FIXED_VALUE } };
        static char path[64];

        snprintf(path, sizeof(path), "/proc/self/fd/%d/env", fuzz_directory());
        fuzz_check(!xac_open(path, XAC_CREATE | XAC_VOLATILE, NULL, &env));
        fuzz_check(!xac_arena_open_env(env, "file", XAC_ARENA_DECLARED, &arena));
        for (unsigned tree = 0; tree < TREES; tree++) {
                fuzz_check(!xac_tree_open(arena, tree_names[tree], XAC_TREE_CREATE, &options[tree], &trees[tree]));
                for (unsigned i = 0; i < KEYS; i++)
                        put(tree, i, i % 7 ? 50 + i : 2000, (uint8_t)i);
        }
        fuzz_check(!atexit(close_all));
}

static void change(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);
        const unsigned tree = how & 1, number = fuzz_u16(input) % KEYS;
        unsigned char key[8];

        for (unsigned i = 0; i <= how / 16u; i++) {
                const size_t key_len = make_key(tree, (number + i * (how & 2)) % KEYS, key);

                if (how & 4)
                        put(tree, number + i * (how & 2), fuzz_u16(input), how);
                else
                        (void)xac_tree_delete(trees[tree], key, key_len);
        }
}

/* ---- the client ---- */

struct taking {
        bool is_records;
        int outcome; /* of the range */
        bool is_over;
        uint64_t byte_len;
};

static void take(struct taking *taking)
{
        static unsigned char bytes[CHUNK];
        ssize_t some;

        while ((some = recv(sockets[1], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
                size_t used = 0;

                taking->byte_len += (size_t)some;
                if (!taking->is_records)
                        continue;
                fuzz_check(!taking->is_over); /* nothing follows a response */
                taking->outcome = xac_range_take(range, bytes, (size_t)some, &used);
                taking->is_over = taking->outcome != 0;
                fuzz_check(used == (size_t)some);
        }
}

static int compare(void *at, const xac_tree_record *record)
{
        xac_tree_record got;

        (void)at;
        if (xac_range_is_cut(range) && xac_range_record(range, &got))
                return 1;
        fuzz_check(!xac_range_record(range, &got));
        fuzz_check(got.key_len == record->key_len && !memcmp(got.key, record->key, got.key_len));
        fuzz_check(got.value_len == record->value_len &&
                   (!record->value || !memcmp(got.value, record->value, got.value_len)));
        (void)xac_range_next(range);
        return 0;
}

/* As of now, if that is what was asked for: there is one thread. */
static void compare_all(const xac_send_request *request)
{
        xac_tree *tree = trees[strcmp(request->tree, tree_names[1]) == 0];
        xac_stats stats;
        xac_tree_record got;

        fuzz_check(!xac_stat(env, &stats));
        if (xac_range_sequence(range) != stats.sequence)
                return;
        if (!xac_range_first(range))
                fuzz_check(!xac_range_record(range, &got));
        fuzz_check(xac_tree_scan(tree, request->from, request->from_len, request->to, request->to_len, compare, NULL) >=
                   0);
        fuzz_check(xac_range_is_cut(range) || xac_range_record(range, &got) == -EINVAL);
}

/* ---- one request ---- */

static int send_all(struct fuzz_input *input, struct taking *taking)
{
        const uint8_t give_up_at = fuzz_u8(input);
        int result = 0, events, timeout_ms;

        for (unsigned turn = 0; !result; turn++) {
                fuzz_check(turn < TURNS);
                if (turn + 1 == give_up_at)
                        is_closed = sender_give_up(sender) == -ETIMEDOUT;
                if (is_closed)
                        return 0;
                result = xac_send_go(sender, &events, &timeout_ms);
                take(taking);
        }
        return result;
}

static void request_one(struct fuzz_input *input, const struct send_decoded *decoded)
{
        const xac_send_request *request = &decoded->request;
        struct taking taking = { .is_records = request->tree };

        if (request->tree)
                fuzz_check(!xac_range_expect(range, request));
        fuzz_check(!xac_send_begin(sender, request));
        const int result = send_all(input, &taking);
        fuzz_check(result == 1 || is_closed);
        if (!request->tree || is_closed)
                return;
        fuzz_check(taking.is_over);
        fuzz_check(sender_result(sender) ? taking.outcome == sender_result(sender) : taking.outcome == 1);
        if (taking.outcome == 1)
                compare_all(request);
        else
                xac_sender_forget(sender);
}

/* ---- requests ---- */

static void make_request(struct fuzz_input *input, struct send_decoded *made)
{
        const uint8_t how = fuzz_u8(input);
        const unsigned tree = how & 1;
        xac_send_request *request = &made->request;

        strcpy(made->file, "file");
        strcpy(made->tree, tree_names[tree]);
        *request = (xac_send_request){ .file = made->file,
                                       .tree = how & 128 ? NULL : made->tree,
                                       .way = (enum xac_send_way)(fuzz_u8(input) % (XAC_SEND_PAGES + 1)) };
        if (how & 2) {
                request->from = made->from;
                request->from_len = make_key(tree, fuzz_u16(input) % KEYS, made->from);
        }
        if (how & 4) {
                request->to = made->to;
                request->to_len = make_key(tree, fuzz_u16(input) % KEYS, made->to);
        }
        if (how & 8)
                request->base_sequence = xac_range_sequence(range);
        if (how & 16)
                request->max_records = fuzz_number(input, KEYS);
        if (how & 32)
                request->max_bytes = fuzz_number(input, VALUE_ROOM);
        if (how & 64)
                request->sequence = fuzz_number(input, xac_range_sequence(range));
        request->first_page = request->tree ? 0 : fuzz_number(input, 3);
        request->pages = request->tree ? 0 : fuzz_number(input, 9);
}

/* Whatever is asked for again is the same but for its base. */
static void ask_again(struct fuzz_input *input)
{
        if (!kept.request.file)
                return;
        kept.request.sequence = 0;
        kept.request.base_sequence = xac_range_sequence(range);
        request_one(input, &kept);
}

static void ask(struct fuzz_input *input)
{
        make_request(input, &kept);
        request_one(input, &kept);
}

static void ask_anything(struct fuzz_input *input)
{
        static struct send_decoded decoded;
        static unsigned char bytes[SEND_GET_MAX];
        const size_t wanted = fuzz_u16(input) % SEND_GET_MAX;
        const struct send_frame head = { SEND_GET, 0, fuzz_bytes(input, bytes, wanted) };

        if (!send_request_decode(&head, bytes, &decoded))
                request_one(input, &decoded);
}

static void run_step(struct fuzz_input *input)
{
        static void (*const steps[])(struct fuzz_input *) = { change, ask, ask_again, change, ask_again, ask_anything };
        const uint8_t step = fuzz_u8(input);

        if (step == UINT8_MAX)
                xac_sender_forget(sender);
        else
                steps[step % (sizeof(steps) / sizeof(steps[0]))](input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        const uint8_t how = fuzz_u8(&input);
        const xac_send_options options = { .rest_bytes = how & 1 ? 0 : UINT64_C(1) << 24,
                                           .gather_bytes = how & 2 ? 1 : 0 };

        if (!env)
                open_all();
        memset(&kept, 0, sizeof(kept));
        is_closed = false;
        fuzz_check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
        fuzz_check(!xac_sender_open(env, sockets[0], &options, &sender));
        fuzz_check(!xac_range_open(&range));
        for (unsigned i = 0; i < STEPS && input.left && !is_closed; i++)
                run_step(&input);
        xac_range_close(range);
        xac_sender_close(sender);
        close(sockets[0]);
        close(sockets[1]);
        return 0;
}
