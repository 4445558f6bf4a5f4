/* SPDX-License-Identifier: MIT */

/* xac heap: how full a heap is, what its roots are, and what is wrong with it. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <xac/heap.h>

#include "tests/tools/tool.h"

static const char *make_heap(void)
{
        const char *dir = scratch_path("env");
        xac_env *env;
        xac_heap *heap;
        xac_heap_root root;

        check_ok(xac_open(dir, XAC_CREATE | XAC_VOLATILE, NULL, &env));
        check_ok(xac_heap_open(env, "things", XAC_CREATE, &heap));
        check_ok(xac_heap_root_create(heap, "a list of things", 100, 77, &root));
        check(xac_heap_malloc(heap, 10000) != NULL);
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
        return dir;
}

static void what_is_in_it_is_told(void)
{
        const char *dir = make_heap();

        check_xac(0, "heap", dir, "things");
        check_said("2 objects");
        check_said("a list of things");
        check_said("tag 77");
        check_not_said("DAMAGED");
}

/* A byte of the map of the first group: the label of a page that is taken. */
static void damage_is_told(void)
{
        const char *dir = make_heap();
        char path[512];

        snprintf(path, sizeof(path), "%s/things", dir);
        int fd = open(path, O_RDWR);
        check(fd >= 0 && pwrite(fd, "\0\0\0\0", 4, 88 + 3) == 4 && close(fd) == 0);
        check_xac(1, "heap", dir, "things");
        check_said("DAMAGED: page 3");
        check_said("nobody has it");
}

static void what_is_no_heap_is_left_alone(void)
{
        const char *dir = make_heap();

        check_xac(1, "heap", dir, "nothing");
        check_said("there is no heap");
        check(scratch_file_size(scratch_path("env/nothing")) < 0);
        check_xac(1, "heap", scratch_path("absent"), "things");
        check_said("No such file");
        check_xac(2, "heap", dir);
        check_said("--help");
        check_xac(2, "heap", "--nonsense", dir, "things");
        check_xac(0, "heap", "--help");
        check_said("Usage: xac heap ");
        check_xac(0, "help", "heap");
        check_said("Usage: xac heap ");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_is_in_it_is_told),
                isolated_test(damage_is_told),
                isolated_test(what_is_no_heap_is_left_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
