/* SPDX-License-Identifier: MIT */

/* xac heap: how full a heap is, what its roots are, and what is wrong with it. */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/heap.h>

#include "tests/support/chance.h"
#include "tests/support/crew.h"
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

/* ---- heaps in traces ---- */

static _Atomic int *turn; /* 1: the other one may begin; 2: it has won */

static void set_first(xac_env *env, const xac_heap_root *root, int value)
{
        check_ok(xbegin(env, 0));
        *(int *)root->object = value;
        if (value == 1) {
                atomic_store(turn, 1);
                while (atomic_load(turn) != 2)
                        crew_sleep_ms(1);
        }
}

/* 1: loses to 2. */
static void set_once(int value, void *dir)
{
        xac_env *env;
        xac_heap *heap;
        xac_heap_root root;

        check_ok(xac_open(dir, XAC_VOLATILE, NULL, &env));
        check_ok(xac_heap_open(env, "things", 0, &heap));
        check_ok(xac_heap_root_find(heap, "a list of things", &root));
        while (value == 2 && atomic_load(turn) != 1)
                crew_sleep_ms(1);
        set_first(env, &root, value);
        check_code(xend(env), value == 1 ? XAC_CONFLICT : 0);
        atomic_store(turn, 2);
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

static void a_trace_names_the_roots_of_a_heap(void)
{
        const char *dir = make_heap();
        const char *trace = scratch_path("trace");
        pid_t other;

        turn = crew_shared(sizeof(*turn));
        check_equal(setenv("XAC_TRACE", trace, 1), 0);
        other = crew_fork(set_once, 2, (void *)dir);
        check_equal(crew_status(crew_fork(set_once, 1, (void *)dir)), 0);
        check_equal(crew_status(other), 0);
        unsetenv("XAC_TRACE");
        check_xac(0, "trace", trace);
        check_said("of things: 1 conflict");
        check_not_said("a list of things");
        check_xac(0, "trace", "--heap", trace);
        check_said("of the heap, root 'a list of things' (at offset ");
        check_xac(0, "trace", "--json", "--heap", trace);
        check_said("\"name\": \"a list of things\"");
        check_equal(rename(dir, scratch_path("moved")), 0);
        check_xac(1, "trace", "--heap", trace);
        check_said("the environment that was traced is not there");
        check_said("of things: 1 conflict");
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

/* ---- files that something else has written ---- */

enum { PAGE = 4096, GROUP = 512 * PAGE, BYTES_MAX = 3 * GROUP };

static unsigned char bytes[BYTES_MAX];

static void write_file(size_t len)
{
        int fd = open(scratch_path("env/things"), O_WRONLY | O_TRUNC);

        check(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && close(fd) == 0);
}

static void read_file(void)
{
        int fd = open(scratch_path("env/things"), O_RDONLY);

        check(fd >= 0 && read(fd, bytes, BYTES_MAX) == BYTES_MAX && close(fd) == 0);
}

/* It says what is wrong, and ends by itself. */
static void check_refused(void)
{
        check_xac(1, "heap", scratch_path("env"), "things");
        check(tool.said_len > 20);
}

/* Objects of all sizes, on the first 150 pages or so. */
static void fill_heap(void)
{
        const char *dir = make_heap();
        xac_env *env;
        xac_heap *heap;

        check_ok(xac_open(dir, XAC_VOLATILE, NULL, &env));
        check_ok(xac_heap_open(env, "things", 0, &heap));
        check_ok(xbegin(env, 0));
        for (size_t i = 0; i < 400; i++)
                check(xac_heap_malloc(heap, i * 16) != NULL);
        check_ok(xend(env));
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

static void what_was_cut_off_is_missed(void)
{
        static const size_t lens[] = { 0,        1,        100,      4095,      4096,      4097,
                                       2 * 4096, 3 * 4096, 4 * 4096, 30 * 4096, 50 * 4096, 50 * 4096 + 1 };

        fill_heap();
        read_file();
        for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
                write_file(lens[i]);
                check_refused();
        }
        write_file(GROUP); /* nothing stood behind it */
        check_xac(0, "heap", scratch_path("env"), "things");
}

static void random_bytes_are_no_heap(void)
{
        struct chance chance = { chance_seed() };

        make_heap();
        for (int i = 0; i < 12; i++) {
                const size_t len = 1 + chance_below(&chance, i < 6 ? 3 * PAGE : BYTES_MAX);

                for (size_t at = 0; at < len; at++)
                        bytes[at] = (unsigned char)chance_next(&chance);
                write_file(len);
                check_refused();
        }
}

/* Random bytes in a heap: it is one, and damaged. */
static void random_pages_are_damage(void)
{
        struct chance chance = { chance_seed() };
        static unsigned char whole[BYTES_MAX];

        fill_heap();
        read_file();
        memcpy(whole, bytes, sizeof(whole));
        for (int i = 0; i < 12; i++) {
                const size_t page = i < 4 ? (size_t)i : 9 + chance_below(&chance, 20); /* 6 to 8 are an object */

                memcpy(bytes, whole, sizeof(whole));
                for (size_t at = 0; at < PAGE; at++)
                        bytes[page * PAGE + at] = (unsigned char)chance_next(&chance);
                write_file(BYTES_MAX);
                check_refused();
        }
}

/* A page arena of another library has the same header but for its magic number. */
static void other_formats_are_no_heaps(void)
{
        fill_heap();
        read_file();
        bytes[PAGE + 8] ^= 1;
        write_file(BYTES_MAX);
        check_refused();
        memset(bytes, 'x', sizeof(bytes));
        write_file(PAGE);
        check_refused();
        check_equal(scratch_file_size(scratch_path("env/things")), PAGE); /* it is as long as it was */
        memset(bytes, 0, sizeof(bytes));
        write_file(PAGE);
        check_refused();
        check_said("there is no heap");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_is_in_it_is_told),
                isolated_test(a_trace_names_the_roots_of_a_heap),
                isolated_test(damage_is_told),
                isolated_test(what_is_no_heap_is_left_alone),
                isolated_test(what_was_cut_off_is_missed),
                isolated_test(random_bytes_are_no_heap),
                isolated_test(random_pages_are_damage),
                isolated_test(other_formats_are_no_heaps),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
