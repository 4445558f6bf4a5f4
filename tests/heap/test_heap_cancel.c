/* SPDX-License-Identifier: MIT */

/*
 * Threads that are cancelled while they are in a call of the heap, or of a tree: as in tests/libxac/test_cancel, and
 * both are as whole as after any other end of a thread.
 */

#include <string.h>

#include <xac/arena.h>
#include <xac/heap.h>
#include <xac/tree.h>

#include "tests/support/cancel.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { LIMIT_S = 600, OBJECTS = 20, OBJECT_BYTES = 700, KEYS = 500 };

/* ---- The heap ---- */

static void *open_heap(xac_env *env)
{
        xac_heap *heap;

        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        return heap;
}

static int allocate_and_free(void *heap)
{
        void *object[OBJECTS];

        for (int i = 0; i < OBJECTS; i++) {
                object[i] = xac_heap_malloc(heap, OBJECT_BYTES);
                check(object[i] != NULL);
        }
        for (int i = 0; i < OBJECTS; i++)
                xac_heap_free(heap, object[i]);
        return 0;
}

static void use_heap(xac_env *env, void *heap)
{
        check_ok(xac_run(env, 0, allocate_and_free, heap));
}

static void open_and_close_heap(xac_env *env, void *unused)
{
        (void)unused;
        check_ok(xac_heap_close(open_heap(env)));
}

static void *begin_nothing(xac_env *env)
{
        (void)env;
        return NULL;
}

static void heap_is_whole(void)
{
        xac_env *env;
        xac_heap *heap;

        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        heap = open_heap(env);
        check_ok(xac_heap_check(heap, NULL, NULL, NULL));
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

static void calls_of_a_heap_may_be_cancelled(void)
{
        cancel_again_and_again(&(const struct cancel_call){ .begin = open_heap, .call = use_heap });
        heap_is_whole();
}

static void a_heap_that_is_opened_may_be_cancelled(void)
{
        cancel_again_and_again(&(const struct cancel_call){ .begin = begin_nothing, .call = open_and_close_heap });
        heap_is_whole();
}

/* ---- A tree ---- */

struct planted {
        xac_arena *arena;
        xac_tree *tree;
};

static void *open_tree(xac_env *env)
{
        static _Thread_local struct planted planted;

        check_ok(xac_arena_open_env(env, "tree", XAC_ARENA_DECLARED, &planted.arena));
        check_ok(xac_tree_open(planted.arena, "all", XAC_TREE_CREATE, NULL, &planted.tree));
        return &planted;
}

static void close_tree(struct planted *planted)
{
        xac_tree_close(planted->tree);
        check_ok(xac_arena_close(planted->arena));
}

static void use_tree(xac_env *env, void *planted_)
{
        static _Atomic uint32_t next;
        struct planted *planted = planted_;
        const uint32_t key = next++ % KEYS;
        char value[OBJECT_BYTES] = "";
        size_t length;

        (void)env;
        check_ok(xac_tree_put(planted->tree, &key, sizeof(key), value, sizeof(value), 0));
        check_ok(xac_tree_get(planted->tree, &key, sizeof(key), value, sizeof(value), &length));
        if (key % 2)
                check_ok(xac_tree_delete(planted->tree, &key, sizeof(key)));
}

static void open_and_close_tree(xac_env *env, void *unused)
{
        (void)unused;
        close_tree(open_tree(env));
}

static void tree_is_whole(void)
{
        xac_env *env;
        struct planted *planted;
        xac_tree_report report;

        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        planted = open_tree(env);
        check_ok(xac_tree_check(planted->arena, &report));
        close_tree(planted);
        check_ok(xac_close(env));
}

static void calls_of_a_tree_may_be_cancelled(void)
{
        cancel_again_and_again(&(const struct cancel_call){ .begin = open_tree, .call = use_tree });
        tree_is_whole();
}

static void a_tree_that_is_opened_may_be_cancelled(void)
{
        cancel_again_and_again(&(const struct cancel_call){ .begin = begin_nothing, .call = open_and_close_tree });
        tree_is_whole();
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(calls_of_a_heap_may_be_cancelled, LIMIT_S),
                isolated_timed(a_heap_that_is_opened_may_be_cancelled, LIMIT_S),
                isolated_timed(calls_of_a_tree_may_be_cancelled, LIMIT_S),
                isolated_timed(a_tree_that_is_opened_may_be_cancelled, LIMIT_S),
        };

        cancel_options(argc, argv);
        return cmocka_run_group_tests_name("heap cancel", tests, NULL, NULL);
}
