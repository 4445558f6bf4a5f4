/* SPDX-License-Identifier: MIT */

/* A tree of more leaves than the sender plans at once: all of it comes, by each way, and what has changed since. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <xac/tree.h>

#include "send/plan.h"
#include "tests/tools/tool.h"

enum {
        VALUE_BYTES = 1000,
        RECORDS_A_LEAF = 4 /* at most */,
        RECORDS = (PLAN_LEAVES + 500) * RECORDS_A_LEAF,
        AT_ONCE = 1000
};

static xac_env *env;
static xac_arena *arena;
static xac_tree *tree;

static void put(int i, const char *text, size_t value_len)
{
        static char value[8 * VALUE_BYTES];
        char key[20];
        const int key_len = snprintf(key, sizeof(key), "key%06d", i);

        memset(value, 'v', sizeof(value));
        memcpy(value, text, strlen(text));
        check_ok(xac_tree_put(tree, key, (size_t)key_len, value, value_len, 0));
}

static void make_tree(void)
{
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, NULL, &env));
        check_ok(xac_arena_open_env(env, "words", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "long", XAC_TREE_CREATE, NULL, &tree));
        for (int i = 0; i < RECORDS; i++) {
                if (i % AT_ONCE == 0)
                        check_ok(xbegin(env, XAC_NOSYNC));
                put(i, "first", VALUE_BYTES);
                if (i % AT_ONCE == AT_ONCE - 1 || i == RECORDS - 1)
                        check_ok(xend(env));
        }
}

/* A third of the leaves gets values in overflow pages: they are sent as records. */
static void change_some(void)
{
        check_ok(xbegin(env, 0));
        for (int i = 0; i < RECORDS; i += 13)
                put(i, "second", 6 * VALUE_BYTES);
        for (int i = 5; i < RECORDS; i += 31)
                put(i, "third", VALUE_BYTES);
        check_ok(xend(env));
}

static pid_t start_server(void)
{
        char line[400];
        int ends[2];

        check_ok(pipe2(ends, O_CLOEXEC));
        const pid_t pid = tool_start(tool_args("serve", TOOL_ENV, scratch_path("socket")), ends[1]);
        close(ends[1]);
        check(read(ends[0], line, sizeof(line)) > 0);
        close(ends[0]);
        return pid;
}

static void check_all_come(const char *way)
{
        char count[40];

        snprintf(count, sizeof(count), "%d records", RECORDS);
        check_xac(0, "get", "--count", way, scratch_path("socket"), "words", "long");
        check_said(count);
}

static void all_of_it_comes(void)
{
        make_tree();
        const pid_t server = start_server();
        for (int changed = 0; changed < 2; changed++) {
                check_all_come("--way=copy");
                check_all_come("--way=gather");
                check_all_come("--way=pages");
                check_xac(0, "get", "--count", "--way=pages", "--repeat=3", scratch_path("socket"), "words", "long");
                check(tool_count_said(" records") == 3);
                change_some();
        }
        check_ok(kill(server, SIGTERM));
        crew_join(server);
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(all_of_it_comes),
        };

        return cmocka_run_group_tests_name("long_tree", tests, NULL, NULL);
}
