/* SPDX-License-Identifier: MIT */

/*
 *      make KIND DIR
 *
 * Makes an environment to be kept in tests/formats (make.sh), and nothing else: it is built against older versions of
 * the library too. Of the kinds, "killed" and "volatile" end by SIGKILL, and their shared memory is removed by make.sh,
 * as a power cut would.
 *
 *      clean     words, closed
 *      killed    words; half of the commits are in the log only
 *      volatile  words, no log; those before the checkpoint are there
 *      trees     trees, killed; half of the records are in the log only
 *      heap      a heap, closed
 */

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xac/xac.h>

#ifndef WITHOUT_TREES
#include <xac/tree.h>
#endif

#ifndef WITHOUT_HEAP
#include <xac/heap.h>
#endif

#include "tests/formats/content.h"

static void expect(int code, const char *what)
{
        if (code) {
                fprintf(stderr, "%s: %s\n", what, xac_strerror(code));
                exit(1);
        }
}

static xac_env *open_new(const char *dir, int flags)
{
        xac_options options = { .log_bytes = 1 << 20, .pool_bytes = 8 << 20 };
        xac_env *env;

        expect(xac_open(dir, XAC_CREATE | XAC_EXCL | flags, &options, &env), dir);
        return env;
}

/* Commits first to last. */
static void commit_words(xac_env *env, uint64_t *words, uint64_t first, uint64_t last)
{
        for (uint64_t k = first; k <= last; k++) {
                expect(xbegin(env, 0), "xbegin");
                words[content_word(k)] += k;
                expect(xend(env), "xend");
        }
}

static void make_words(const char *dir, int flags, int is_killed)
{
        xac_env *env = open_new(dir, flags);
        uint64_t *words = xac_mmap(env, "words", CONTENT_WORDS * sizeof(*words), 0);

        if (words == MAP_FAILED)
                expect(-1, "xac_mmap");
        commit_words(env, words, 1, CONTENT_COMMITS / 2);
        expect(xac_checkpoint(env), "xac_checkpoint");
        commit_words(env, words, CONTENT_COMMITS / 2 + 1, CONTENT_COMMITS);
        if (is_killed)
                kill(getpid(), SIGKILL);
        expect(xac_close(env), "xac_close");
}

#ifndef WITHOUT_TREES
static void put_records(xac_tree *b, xac_tree *c, uint64_t first, uint64_t last)
{
        static char value[CONTENT_VALUE_MAX];

        for (uint64_t k = first; k <= last; k++) {
                char key[32];
                size_t key_len = content_key(k, key), value_len = content_value(k, value);

                expect(xac_tree_put(b, key, key_len, value, value_len, 0), "xac_tree_put");
                expect(xac_tree_put(c, key, key_len, value, value_len, 0), "xac_tree_put");
                if (!content_is_deleted(k))
                        continue;
                expect(xac_tree_delete(b, key, key_len), "xac_tree_delete");
                expect(xac_tree_delete(c, key, key_len), "xac_tree_delete");
        }
}

static void make_trees(const char *dir)
{
        xac_env *env = open_new(dir, 0);
        xac_arena *arena;
        const xac_tree_options cob = { .kind = XAC_TREE_COBTREE };
        xac_tree *b;
        xac_tree *c;

        expect(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena), "trees");
        expect(xac_tree_open(arena, "b", XAC_TREE_CREATE, NULL, &b), "b");
        expect(xac_tree_open(arena, "c", XAC_TREE_CREATE, &cob, &c), "c");
        put_records(b, c, 1, CONTENT_RECORDS / 2);
        expect(xac_checkpoint(env), "xac_checkpoint");
        put_records(b, c, CONTENT_RECORDS / 2 + 1, CONTENT_RECORDS);
        kill(getpid(), SIGKILL);
}
#endif

#ifndef WITHOUT_HEAP
static void make_root(xac_heap *heap, uint64_t k)
{
        char name[32];
        xac_heap_root root;

        content_root(k, name);
        expect(xac_heap_root_create(heap, name, content_root_bytes(k), k, &root), "xac_heap_root_create");
        memset(root.object, content_letter(k), root.size);
        if (k % 4 == 0 && !xac_heap_malloc(heap, content_root_bytes(k)))
                expect(-1, "xac_heap_malloc");
}

static void make_heap(const char *dir)
{
        xac_env *env = open_new(dir, 0);
        char name[32];
        xac_heap *heap;

        expect(xac_heap_open(env, "heap", XAC_CREATE | XAC_ANYWHERE, &heap), "xac_heap_open");
        expect(xbegin(env, 0), "xbegin");
        for (uint64_t k = 0; k < CONTENT_ROOTS; k++)
                make_root(heap, k);
        for (uint64_t k = 0; k < CONTENT_ROOTS; k++) {
                content_root(k, name);
                if (content_is_removed(k))
                        expect(xac_heap_root_remove(heap, name), "xac_heap_root_remove");
        }
        expect(xend(env), "xend");
        expect(xac_heap_close(heap), "xac_heap_close");
        expect(xac_close(env), "xac_close");
}
#endif

int main(int argc, char **argv)
{
        if (argc != 3)
                return fprintf(stderr, "usage: make clean|killed|volatile|trees|heap DIR\n"), 2;
        if (!strcmp(argv[1], "clean"))
                make_words(argv[2], 0, 0);
        else if (!strcmp(argv[1], "killed"))
                make_words(argv[2], 0, 1);
        else if (!strcmp(argv[1], "volatile"))
                make_words(argv[2], XAC_VOLATILE, 1);
#ifndef WITHOUT_TREES
        else if (!strcmp(argv[1], "trees"))
                make_trees(argv[2]);
#endif
#ifndef WITHOUT_HEAP
        else if (!strcmp(argv[1], "heap"))
                make_heap(argv[2]);
#endif
        else
                return fprintf(stderr, "make: no kind %s\n", argv[1]), 2;
        return 0;
}
