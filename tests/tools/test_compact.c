/* SPDX-License-Identifier: MIT */

/* xac compact: what is free in trees and heaps takes no disk space afterwards, also while others have it open. */

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <xac/heap.h>
#include <xac/tree.h>

#include "tests/tools/tool.h"

enum { KEYS = 8000, KEPT_EACH = 20, VALUE_BYTES = 200, OBJECT_BYTES = 1 << 20, ZEROS_BYTES = 3 << 20 };

static uint64_t bytes_on_disk(const char *name)
{
        struct stat st;

        check_equal(stat(tool_path(name), &st), 0);
        return (uint64_t)st.st_blocks * 512;
}

static void fill_tree(xac_tree *tree)
{
        unsigned char value[VALUE_BYTES];

        memset(value, 'v', sizeof(value));
        for (uint32_t key = 0; key < KEYS; key++)
                check_ok(xac_tree_put(tree, &key, sizeof(key), value, sizeof(value), 0));
        for (uint32_t key = 0; key < KEYS; key++)
                if (key % KEPT_EACH)
                        check_ok(xac_tree_delete(tree, &key, sizeof(key)));
}

/* A tree and a heap of which most is free, and two files that are neither. */
static void make(int flags)
{
        static const xac_tree_options options = { .kind = XAC_TREE_BPLUS };
        xac_env *env;
        xac_arena *arena;
        xac_tree *tree;
        xac_heap *heap;
        uint64_t *words = tool_open(XAC_CREATE | flags, &env);

        tool_commit(env, words, 0, 0);
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, &options, &tree));
        fill_tree(tree);
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        void *object = xac_heap_malloc(heap, OBJECT_BYTES);
        check(object != NULL);
        check_ok(xbegin(env, 0));
        memset(object, 'o', OBJECT_BYTES);
        check_ok(xend(env));
        xac_heap_free(heap, object);
        check_ok(xac_heap_close(heap));
        check(xac_mmap(env, "zeros", ZEROS_BYTES, 0) != MAP_FAILED);
        check_ok(xac_checkpoint(env));
        check_ok(xac_close(env));
}

static void check_all(void)
{
        static const xac_tree_options options = { .kind = XAC_TREE_BPLUS };
        xac_env *env;
        xac_arena *arena;
        xac_tree *tree;
        xac_tree_stats stats;

        check_ok(xac_open(TOOL_ENV, 0, NULL, &env));
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "tree", 0, &options, &tree));
        check_ok(xac_tree_stat(tree, &stats));
        check_equal(stats.records, KEYS / KEPT_EACH);
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
        check_xac(0, "check", TOOL_ENV);
        check_xac(0, "heap", TOOL_ENV, "heap");
        check_equal(tool_sum(), 1);
        check_equal(scratch_file_size(tool_path("zeros")), ZEROS_BYTES);
}

static void free_pages_are_given_back(void)
{
        make(0);
        const uint64_t tree_before = bytes_on_disk("trees"), heap_before = bytes_on_disk("heap");
        check_xac(0, "compact", TOOL_ENV);
        check_said("trees");
        check_said("of free pages given back");
        check_said("neither trees nor a heap: left as it is");
        check(bytes_on_disk("trees") < tree_before / 2);
        check(bytes_on_disk("heap") + OBJECT_BYTES <= heap_before);
        check_xac(0, "compact", "--quiet", TOOL_ENV);
        check_equal(tool.said_len, 0);
        check_all();
}

/* This process has it open, with a snapshot that shows what there was. */
static void others_may_use_it(void)
{
        xac_env *env;

        make(0);
        const uint64_t before = bytes_on_disk("trees");
        uint64_t *words = tool_open(0, &env);
        check_ok(xbegin(env, XAC_RDONLY));
        check(words[0] <= 1);
        check_xac(0, "compact", TOOL_ENV);
        check(bytes_on_disk("trees") >= before); /* it shows what is home */
        check_ok(xend(env));
        check_ok(xac_checkpoint(env));
        check(bytes_on_disk("trees") < before / 2);
        check_ok(xac_close(env));
        check_all();
}

static void mistakes_are_told(void)
{
        check_xac(2, "compact");
        check_xac(2, "compact", "--louder", TOOL_ENV);
        check_xac(1, "compact", scratch_path("nowhere"));
        check_said("nowhere");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(free_pages_are_given_back),
                isolated_test(others_may_use_it),
                isolated_test(mistakes_are_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
