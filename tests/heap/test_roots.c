/* SPDX-License-Identifier: MIT */

/*
 * Roots: objects with names. What has a name is freed with it only; names are found among many; calls of a list may
 * change the roots.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "heap/roots.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

static xac_env *env;
static xac_heap *heap;

static void open_heap(void)
{
        const xac_options options = { .pool_bytes = 64 << 20 };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
}

static void close_heap(void)
{
        check_ok(xac_heap_check(heap, NULL, NULL, NULL));
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

static uint64_t count_roots(void)
{
        xac_heap_stats stats;

        check_ok(xac_heap_check(heap, &stats, NULL, NULL));
        return stats.roots;
}

/* ---- what has a name ---- */

static const size_t sizes[] = { 1, 100, 2000, 5000, 3 << 20 };

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void free_a_root(int which, void *unused)
{
        xac_heap_root root;

        (void)unused;
        open_heap();
        check_ok(xac_heap_root_create(heap, "root", sizes[which / 3], 0, &root));
        check_ok(xbegin(env, 0));
        if (which % 3 == 0)
                xac_heap_free(heap, root.object);
        else
                (void)xac_heap_realloc(heap, root.object, which % 3 == 1 ? 0 : 2 * root.size);
}

static void what_has_a_name_is_not_freed_without_it(void)
{
        struct crash crash;

        open_heap();
        for (int which = 0; which < 3 * SIZES; which++) {
                crash_run(free_a_root, which, NULL, &crash);
                check_equal(crash.signal, SIGABRT);
                check_equal(crash_lines(&crash), 1);
                check(strstr(crash.said, "xac_heap_root_remove()"));
                check_ok(xac_heap_root_remove(heap, "root"));
        }
        close_heap();
}

/* On the page of a root, too; and who has its memory afterwards has it as any. */
static void others_are_freed(void)
{
        enum { COUNT = 20 };
        void *object[SIZES][COUNT];
        xac_heap_root root;
        char name[32];

        open_heap();
        for (int round = 0; round < 2; round++) {
                for (int size = 0; size < SIZES; size++)
                        for (int i = 0; i < COUNT; i++) {
                                snprintf(name, sizeof(name), "%d %d", size, i);
                                check((object[size][i] = xac_heap_malloc(heap, sizes[size])) != NULL);
                                check_ok(xac_heap_root_create(heap, name, sizes[size], 0, &root));
                                check_ok(xac_heap_root_of(heap, root.object, &root));
                                check(!strcmp(root.name, name) && root.size == sizes[size]);
                                check_code(xac_heap_root_of(heap, object[size][i], &root), -ENOENT);
                        }
                for (int size = 0; size < SIZES; size++)
                        for (int i = 0; i < COUNT; i++) {
                                snprintf(name, sizeof(name), "%d %d", size, i);
                                object[size][i] = xac_heap_realloc(heap, object[size][i], sizes[size] + 1);
                                xac_heap_free(heap, object[size][i]);
                                check_ok(xac_heap_root_remove(heap, name));
                        }
        }
        check_code(xac_heap_root_of(heap, &root, &root), -ENOENT);
        check_code(xac_heap_root_of(heap, NULL, &root), -EINVAL);
        close_heap();
}

/* ---- many ---- */

enum { NAMES = 4000, STEPS = 6000, STEPS_EACH = 50 };

static uint64_t expected[NAMES], before[NAMES]; /* a tag; 0: there is none */

static void name_of(int i, char name[XAC_HEAP_NAME_MAX + 1])
{
        snprintf(name, XAC_HEAP_NAME_MAX + 1, "%*d", i % 8 ? 0 : 40, i);
}

static void change_a_root(struct chance *chance)
{
        const int i = (int)chance_below(chance, NAMES);
        const uint64_t tag = 1 + chance_below(chance, 1000000);
        char name[XAC_HEAP_NAME_MAX + 1];
        xac_heap_root root;

        name_of(i, name);
        int err = xac_heap_root_find(heap, name, &root);
        check(expected[i] ? !err && root.tag == expected[i] : err == -ENOENT);
        if (chance_percent(chance, 35)) {
                check_code(xac_heap_root_remove(heap, name), expected[i] ? 0 : -ENOENT);
                expected[i] = 0;
                return;
        }
        err = xac_heap_root_create(heap, name, 1 + tag % 64, tag, &root);
        check_code(err, expected[i] ? -EEXIST : 0);
        expected[i] = expected[i] ? expected[i] : tag;
        check_equal(root.tag, expected[i]);
}

static int see_root(void *seen_, const xac_heap_root *root)
{
        unsigned char *seen = seen_;
        int i;
        xac_heap_root same;

        check_equal(sscanf(root->name, "%d", &i), 1);
        check_equal(root->tag, expected[i]);
        check_ok(xac_heap_root_of(heap, root->object, &same));
        check(!strcmp(same.name, root->name) && same.object == root->object);
        check(!seen[i]++);
        return 0;
}

static void roots_are_as_a_model_has_them(void)
{
        struct chance chance = { chance_seed() };
        uint64_t count = 0;

        open_heap();
        for (int step = 0; step < STEPS; step += STEPS_EACH) {
                memcpy(before, expected, sizeof(expected));
                check_ok(xbegin(env, 0));
                for (int i = 0; i < STEPS_EACH; i++)
                        change_a_root(&chance);
                if (chance_percent(&chance, 20)) {
                        memcpy(expected, before, sizeof(expected));
                        check_ok(xabort(env));
                } else {
                        check_ok(xend(env));
                }
        }
        unsigned char seen[NAMES] = { 0 };
        check_ok(xac_heap_root_list(heap, see_root, seen));
        for (int i = 0; i < NAMES; i++) {
                check_equal(seen[i], expected[i] != 0);
                count += seen[i];
        }
        check_equal(count_roots(), count);
        close_heap();
}

/* A look-up reads the top, a node and a bucket; of more than some 20,000 roots one node more. */
static void a_look_up_is_short(void)
{
        enum { MANY = 10000 };
        char name[XAC_HEAP_NAME_MAX + 1];
        xac_heap_root root;

        open_heap();
        for (int i = 0; i < MANY;) {
                check_ok(xbegin(env, 0));
                do {
                        name_of(i, name);
                        check_ok(xac_heap_root_create(heap, name, 16, 0, &root));
                } while (++i % 500);
                check_ok(xend(env));
        }
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < MANY; i++) {
                struct tree_spot spot;

                name_of(i, name);
                check_ok(tree_find(heap, BY_NAME, tree_hash_name(name), name, &spot));
                check(spot.node == tree_top(heap)->tree[BY_NAME]);
        }
        check_ok(xend(env));
        check_equal(count_roots(), MANY);
        close_heap();
}

/* ---- a list whose calls change the roots ---- */

enum { LISTED = 500 };

static void make_listed(void)
{
        char name[XAC_HEAP_NAME_MAX + 1];
        xac_heap_root root;

        for (int i = 0; i < LISTED; i++) {
                snprintf(name, sizeof(name), "%d", i);
                check_ok(xac_heap_root_create(heap, name, 16, (uint64_t)i, &root));
        }
}

/* Removes itself, and another; makes new ones. */
static int change_roots(void *seen_, const xac_heap_root *root)
{
        unsigned char *seen = seen_;
        const int i = (int)root->tag;
        char name[XAC_HEAP_NAME_MAX + 1];
        xac_heap_root made;

        if (i >= LISTED)
                return 0;
        check(!seen[i]++);
        check_ok(xac_heap_root_remove(heap, root->name));
        snprintf(name, sizeof(name), "%d", (i + LISTED / 2) % LISTED);
        int err = xac_heap_root_remove(heap, name);
        check(!err || err == -ENOENT);
        snprintf(name, sizeof(name), "new %d", i);
        check_ok(xac_heap_root_create(heap, name, 16, LISTED, &made));
        return 0;
}

static void calls_of_a_list_may_change_the_roots(void)
{
        unsigned char seen[LISTED] = { 0 };

        open_heap();
        make_listed();
        check_code(xac_heap_root_list(heap, change_roots, (unsigned char[LISTED]){ 0 }), XAC_WROTE);
        check_ok(xbegin(env, 0));
        check_ok(xac_heap_root_list(heap, change_roots, seen));
        check_ok(xend(env));
        for (int i = 0; i < LISTED / 2; i++)
                check_equal(seen[i] + seen[i + LISTED / 2], 1);
        check_equal(count_roots(), LISTED / 2);
        close_heap();
}

static int stop_with_enoent(void *count, const xac_heap_root *root)
{
        (void)root;
        ++*(int *)count;
        return -ENOENT;
}

static void a_list_ends_with_what_a_call_returns(void)
{
        int count = 0;

        open_heap();
        make_listed();
        check_code(xac_heap_root_list(heap, stop_with_enoent, &count), -ENOENT);
        check_equal(count, 1);
        close_heap();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_has_a_name_is_not_freed_without_it),
                isolated_test(others_are_freed),
                isolated_test(roots_are_as_a_model_has_them),
                isolated_test(a_look_up_is_short),
                isolated_test(calls_of_a_list_may_change_the_roots),
                isolated_test(a_list_ends_with_what_a_call_returns),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
