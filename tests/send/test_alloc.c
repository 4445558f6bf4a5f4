/* SPDX-License-Identifier: MIT */
#include <xac/send.h>

/*
 * Each allocation of a sender, and of a range, fails once: the result is -ENOMEM, told to the client if it was in time,
 * or a response without faults; nothing leaks (AddressSanitizer), no snapshot stays, and the next sender, the next
 * range have all there is.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"
#include "tests/trees/failing.h"

enum { KEYS = 800, VALUE_MAX = 6000, RESPONSE_MAX = 8 << 20, LASTING = 1, FIXED = 2, PAGES = 4 };

static xac_env *env;
static xac_arena *arena;
static xac_tree *tree;
static int sockets[2];
static unsigned char *response;
static size_t response_len;
static bool is_fixed;
static int refused;

/* ---- the tree ---- */

static size_t value_length(int i)
{
        if (is_fixed)
                return 24;
        return i % 100 == 7 ? VALUE_MAX : (size_t)(i % 50); /* some in overflow pages */
}

static void put(int i, int filling)
{
        static unsigned char value[VALUE_MAX];
        unsigned char key[8] = { [6] = (unsigned char)(i >> 8), [7] = (unsigned char)i };

        memset(value, filling, sizeof(value));
        check_ok(xac_tree_put(tree, key, sizeof(key), value, value_length(i), 0));
}

static void open_tree(void)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 24 };

        response = malloc(RESPONSE_MAX);
        check(response != NULL);
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, is_fixed ? &options : NULL, &tree));
        for (int i = 0; i < KEYS; i++)
                put(i, i);
}

static void close_tree(void)
{
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
        free(response);
}

static uint64_t participants(void)
{
        xac_stats stats;

        check_ok(xac_stat(env, &stats));
        return stats.participants;
}

/* ---- both sides, in one thread ---- */

static void read_some(void)
{
        ssize_t some;

        while ((some = recv(sockets[1], response + response_len, RESPONSE_MAX - response_len, MSG_DONTWAIT)) > 0)
                response_len += (size_t)some;
        check(response_len < RESPONSE_MAX);
}

/* Nothing fails while the client reads. */
static int send_once(xac_sender *sender, const xac_send_request *request)
{
        int events, timeout_ms, result;

        response_len = 0;
        failing_go_on();
        result = xac_send_begin(sender, request);
        failing_pause();
        while (!result) {
                failing_go_on();
                result = xac_send_go(sender, &events, &timeout_ms);
                failing_pause();
                read_some();
        }
        return result;
}

static uint64_t count_records(xac_range *range)
{
        uint64_t records = 0;

        while (!xac_range_next(range))
                records++;
        return records;
}

static int take(xac_range *range)
{
        size_t used;

        return xac_range_take(range, response, response_len, &used);
}

/* What has come is an error, or all. */
static int check_response(xac_range *range)
{
        const int result = take(range);

        check(result == 1 || result == -ENOMEM);
        check_equal(count_records(range), result == 1 ? KEYS : 0);
        return result;
}

static void check_next_sender(const xac_send_request *request)
{
        xac_sender *sender;
        xac_range *range;

        check_ok(xac_range_open(&range));
        check_ok(xac_sender_open(env, sockets[0], NULL, &sender));
        check_equal(send_once(sender, request), 1);
        check_equal(check_response(range), 1);
        xac_sender_close(sender);
        xac_range_close(range);
}

/* ---- the sender ---- */

/* The second response is of changes, with way PAGES. 1; -ENOMEM, told or not. */
static int send_twice(xac_sender *sender, const xac_send_request *request, int round)
{
        xac_send_request second = *request;
        xac_range *range;
        int result = send_once(sender, request);

        check_ok(xac_range_open(&range));
        if (result == 1)
                result = check_response(range);
        if (result == 1) {
                second.base_sequence = request->way == XAC_SEND_PAGES ? xac_range_sequence(range) : 0;
                for (int i = 0; i < KEYS; i += 40)
                        put(i, round);
                result = send_once(sender, &second);
        }
        if (result == 1)
                result = check_response(range);
        xac_range_close(range);
        return result;
}

/* How many calls there were, as far as they fail. */
static int fail_in_sender(const xac_send_request *request, const struct failing_plan *plan)
{
        const uint64_t before = participants();
        xac_sender *sender = NULL;

        check_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
        failing_start(plan);
        failing_go_on();
        int result = xac_sender_open(env, sockets[0], NULL, &sender);
        failing_pause();
        check(result == 0 || (result == -ENOMEM && !sender));
        if (!result)
                result = send_twice(sender, request, plan->nth);
        check(result == 1 || result == -ENOMEM);
        refused += result != 1;
        xac_sender_close(sender);
        const int calls = failing_stop();
        check_equal(participants(), before);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        check_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
        check_next_sender(request);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        return calls;
}

static void an_allocation_fails_in_the_sender(int how)
{
        const xac_send_request request = { .file = "trees",
                                           .tree = "tree",
                                           .from = "\0\0\0\0\0\0\0\0",
                                           .from_len = 8,
                                           .way = how & PAGES ? XAC_SEND_PAGES : XAC_SEND_COPY };
        struct failing_plan plan = { .nth = 0, .with = -ENOMEM, .is_lasting = how & LASTING };
        is_fixed = how & FIXED;
        open_tree();
        for (int calls = fail_in_sender(&request, &plan); plan.nth < calls;) {
                plan.nth++;
                const int now = fail_in_sender(&request, &plan);
                calls = now > calls ? now : calls;
        }
        print_message("%d calls, after %d of which there was no response\n", plan.nth, refused);
        check(refused > 10);
        close_tree();
}

/* ---- the range ---- */

static int fail_in_range(const struct failing_plan *plan)
{
        xac_range *range = NULL;
        size_t used;

        failing_start(plan);
        failing_go_on();
        int result = xac_range_open(&range);
        if (!result)
                result = xac_range_take(range, response, response_len, &used);
        failing_pause();
        const int calls = failing_stop();
        check(result == 1 || result == -ENOMEM);
        check_equal(result == 1, plan->nth == 0 || plan->nth > calls);
        if (range)
                check_equal(count_records(range), result == 1 ? KEYS : 0);
        if (range && result != 1) {
                check_equal(take(range), 1); /* it may be used again */
                check_equal(count_records(range), KEYS);
        }
        xac_range_close(range);
        return calls;
}

static void an_allocation_fails_in_the_range(int how)
{
        const xac_send_request request = { .file = "trees",
                                           .tree = "tree",
                                           .way = how & PAGES ? XAC_SEND_PAGES : XAC_SEND_COPY };
        struct failing_plan plan = { .nth = 0, .with = -ENOMEM, .is_lasting = how & LASTING };

        is_fixed = how & FIXED;
        open_tree();
        check_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
        check_next_sender(&request);
        const int calls = fail_in_range(&plan);
        check(calls > 3);
        while (++plan.nth <= calls + 1)
                fail_in_range(&plan);
        check_ok(close(sockets[0]));
        check_ok(close(sockets[1]));
        close_tree();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(an_allocation_fails_in_the_sender, 0, "records"),
                isolated_way(an_allocation_fails_in_the_sender, LASTING, "records, lasting"),
                isolated_way(an_allocation_fails_in_the_sender, FIXED, "fixed"),
                isolated_way(an_allocation_fails_in_the_sender, PAGES, "pages"),
                isolated_way(an_allocation_fails_in_the_sender, PAGES | FIXED, "fixed, pages"),
                isolated_way(an_allocation_fails_in_the_range, 0, "records"),
                isolated_way(an_allocation_fails_in_the_range, LASTING, "records, lasting"),
                isolated_way(an_allocation_fails_in_the_range, FIXED, "fixed"),
                isolated_way(an_allocation_fails_in_the_range, PAGES, "pages"),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
