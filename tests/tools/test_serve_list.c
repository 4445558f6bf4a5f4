/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_list.h"

/* A list of many trees is made in turns, between which others are served; whatever happens meanwhile. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum {
        TREES = 6000, /* that take several turns */
        DROPPED = 100,
        AT_ONCE = 500,
        PLENTY = 64 << 20
};

static xac_env *env;
static xac_arena *arena;
static struct serve_files files;

static const char *name_of(unsigned number)
{
        static char name[20];

        snprintf(name, sizeof(name), "tree%05u", number);
        return name;
}

static void open_all(void)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        check_ok(xac_arena_open_env(env, "words", XAC_ARENA_DECLARED, &arena));
        for (unsigned i = 0; i < TREES; i++) {
                xac_tree *tree;

                if (i % AT_ONCE == 0)
                        check_ok(xbegin(env, 0));
                check_ok(xac_tree_open(arena, name_of(i), XAC_TREE_CREATE, NULL, &tree));
                xac_tree_close(tree);
                if (i % AT_ONCE == AT_ONCE - 1)
                        check_ok(xend(env));
        }
        check_ok(serve_files_open(&files, scratch_path("env")));
}

static void close_all(void)
{
        serve_files_close(&files);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

/* As of the newest commit. */
static int go(struct serve_list *list)
{
        xac_snapshot *snapshot;

        check_ok(xac_snapshot_open(env, 0, &snapshot));
        const int result = serve_list_go(list, snapshot);
        check_ok(xac_snapshot_close(snapshot));
        return result;
}

static unsigned count_entries(const struct serve_list *list)
{
        unsigned count = 0;
        struct send_frame head;

        for (size_t at = 0; at < list->len; at += sizeof(head) + head.byte_len) {
                memcpy(&head, list->bytes + at, sizeof(head));
                head = send_frame_order(head);
                count += head.kind == SEND_LISTED;
        }
        return count;
}

static void many_trees_take_several_turns(void)
{
        struct serve_list list;
        unsigned turns = 1;

        open_all();
        check_ok(serve_list_begin(&files, PLENTY, &list));
        while (go(&list) == 0)
                turns++;
        check(list.is_made);
        check_equal(count_entries(&list), TREES + 1);
        check(turns >= 3);
        serve_list_free(&list);
        close_all();
}

/* Trees that are dropped between two turns are not listed, or were. */
static void what_goes_meanwhile_is_left_out(void)
{
        struct serve_list list;
        int result;

        open_all();
        check_ok(serve_list_begin(&files, PLENTY, &list));
        check_code(go(&list), 0);
        for (unsigned i = 0; i < DROPPED; i++)
                check_ok(xac_tree_drop(arena, name_of(TREES - 1 - i)));
        while ((result = go(&list)) == 0)
                ;
        check_equal(result, 1);
        check_equal(count_entries(&list), TREES - DROPPED + 1);
        serve_list_free(&list);
        close_all();
}

/* Names that wait for their turn count, too. */
static void a_list_has_a_limit(void)
{
        struct serve_list list;
        int result;

        open_all();
        check_ok(serve_list_begin(&files, (size_t)TREES * 5, &list));
        check_code(go(&list), -EFBIG);
        check(list.len < 1000);
        serve_list_free(&list);
        check_ok(serve_list_begin(&files, (size_t)TREES * 20, &list));
        while ((result = go(&list)) == 0)
                ;
        check_code(result, -EFBIG);
        serve_list_free(&list);
        close_all();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(many_trees_take_several_turns),
                isolated_test(what_goes_meanwhile_is_left_out),
                isolated_test(a_list_has_a_limit),
        };

        return cmocka_run_group_tests_name("lists of xac serve", tests, NULL, NULL);
}
