/* SPDX-License-Identifier: MIT */

/*
 * The library as a guest in a program: keys for data of threads that others have used up, a program that loads and
 * closes it (dlclose), and two copies of it in one process, as a plug-in may bring one.
 */

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

/* ---- Keys ---- */

enum { KEYS = PTHREAD_KEYS_MAX };

static pthread_key_t keys[KEYS];
static _Atomic int wrong_values;

static void expect_its_value(void *value)
{
        wrong_values += value != keys;
}

static unsigned use_up_keys(void)
{
        unsigned used = 0;

        while (used < KEYS && pthread_key_create(&keys[used], expect_its_value) == 0)
                used++;
        check(used > 0);
        return used;
}

static int add(void *words)
{
        ++*(uint64_t *)words;
        return 0;
}

static void *work_in_a_thread(void *env)
{
        check_equal(pthread_setspecific(keys[0], keys), 0);
        uint64_t *words = xac_mmap(env, "words", 4096, 0);
        check(words != MAP_FAILED);
        check_ok(xac_run(env, 0, add, words));
        check(pthread_getspecific(keys[0]) == keys);
        return NULL;
}

static void a_program_that_has_used_up_its_keys_is_refused(void)
{
        const unsigned used = use_up_keys();
        pthread_t thread;
        xac_env *env;
        xac_stats stats;

        check_code(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env), -EAGAIN);
        check_equal(pthread_key_delete(keys[used - 1]), 0);
        seat_take(0);
        check_equal(pthread_create(&thread, NULL, work_in_a_thread, seat.env), 0);
        check_equal(pthread_join(thread, NULL), 0);
        check_equal(wrong_values, 0);
        check_ok(xac_stat(seat.env, &stats));
        check_equal(stats.participants, 1); /* the other has left with its thread */
        seat_leave(0);
}

/* ---- Copies ---- */

struct copy {
        void *library;
        xac_env *env;
        uint64_t *words;
        int (*open)(const char *, int, const xac_options *, xac_env **);
        int (*close)(xac_env *);
        int (*run)(xac_env *, int, int (*)(void *), void *);
        void *(*map)(xac_env *, const char *, size_t, int);
};

/* ISO C has no conversion from data pointers to functions. */
static void find(void *library, const char *name, void *function)
{
        void *found = dlsym(library, name);

        check(found != NULL);
        memcpy(function, &found, sizeof(found));
}

static void load(struct copy *copy, const char *path)
{
        copy->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!copy->library)
                printf("%s\n", dlerror());
        check(copy->library != NULL);
        find(copy->library, "xac_open", &copy->open);
        find(copy->library, "xac_close", &copy->close);
        find(copy->library, "xac_run", &copy->run);
        find(copy->library, "xac_mmap", &copy->map);
}

static void open_by(struct copy *copy, const char *directory)
{
        check_ok(copy->open(scratch_path(directory), XAC_CREATE, NULL, &copy->env));
        copy->words = copy->map(copy->env, "words", 8192, XAC_ANYWHERE);
        check(copy->words != MAP_FAILED);
}

/* The library that the program was linked with is one; a copy of its file is the other. */
static bool take_another(struct copy *copy)
{
        Dl_info info;
        unsigned char *bytes;
        size_t byte_len;

        if (!dladdr((const void *)(uintptr_t)xac_open, &info) || !strstr(info.dli_fname, ".so"))
                return false; /* a build without shared libraries */
        byte_len = (size_t)scratch_file_size(info.dli_fname);
        bytes = malloc(byte_len);
        check(bytes != NULL);
        FILE *file = fopen(info.dli_fname, "re");
        check(file != NULL && fread(bytes, 1, byte_len, file) == byte_len);
        fclose(file);
        scratch_write_file(scratch_path("copy.so"), bytes, byte_len);
        free(bytes);
        load(copy, scratch_path("copy.so"));
        return true;
}

static void two_copies_mend_their_own_faults(void)
{
        struct copy own = { .open = xac_open, .close = xac_close, .run = xac_run, .map = xac_mmap }, other = { 0 };

        if (!take_another(&other))
                isolate_skip("no shared library");
        open_by(&own, "env");
        open_by(&other, "other");
        for (int i = 0; i < 4; i++) {
                struct copy *first = i % 2 ? &own : &other, *second = i % 2 ? &other : &own;

                check_ok(first->run(first->env, 0, add, first->words));
                check_ok(second->run(second->env, 0, add, second->words + 512));
                check_ok(second->run(second->env, 0, add, second->words));
        }
        check_ok(own.close(own.env));
        check_ok(other.run(other.env, 0, add, other.words)); /* the other goes on */
        check_ok(other.close(other.env));
}

static void touch_nothing(int unused, void *other_)
{
        struct copy own = { .open = xac_open, .close = xac_close, .run = xac_run, .map = xac_mmap };

        (void)unused;
        open_by(&own, "env");
        open_by(other_, "other");
        volatile int *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(nowhere != MAP_FAILED);
        *nowhere = 1;
}

static void remove_what_it_left(const char *directory)
{
        xac_env *env;

        check_ok(xac_open(scratch_path(directory), 0, NULL, &env));
        check_ok(xac_close(env));
}

static void a_fault_of_neither_ends_the_process(void)
{
        struct copy other = { 0 };
        struct crash crash;

        if (!take_another(&other))
                isolate_skip("no shared library");
        crash_run(touch_nothing, 0, &other, &crash);
        check_equal(crash.signal, SIGSEGV);
        remove_what_it_left("env");
        remove_what_it_left("other");
}

/* ---- Unloading ---- */

static pthread_barrier_t has_worked, is_unloaded;

static void *work_by(void *copy_)
{
        struct copy *copy = copy_;

        copy->words = copy->map(copy->env, "words", 8192, XAC_ANYWHERE);
        check_ok(copy->run(copy->env, 0, add, copy->words));
        pthread_barrier_wait(&has_worked);
        pthread_barrier_wait(&is_unloaded);
        return NULL;
}

/* A thread that ends, a fork, and the program's own end still lead into the library. */
static void unload_and_go_on(int index, void *unused)
{
        struct copy copy = { 0 };
        pthread_t thread;

        (void)index, (void)unused;
        if (!take_another(&copy))
                return;
        check_equal(pthread_barrier_init(&has_worked, NULL, 2), 0);
        check_equal(pthread_barrier_init(&is_unloaded, NULL, 2), 0);
        open_by(&copy, "env");
        check_equal(pthread_create(&thread, NULL, work_by, &copy), 0);
        pthread_barrier_wait(&has_worked);
        check_ok(copy.close(copy.env));
        check_equal(dlclose(copy.library), 0);
        pthread_barrier_wait(&is_unloaded);
        check_equal(pthread_join(thread, NULL), 0);
        const pid_t child = fork();
        if (child == 0)
                _exit(0);
        crew_join(child);
        exit(0);
}

static void a_program_may_unload_it(void)
{
        crew_join(crew_fork(unload_and_go_on, 0, NULL));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_program_that_has_used_up_its_keys_is_refused),
                isolated_test(two_copies_mend_their_own_faults),
                isolated_test(a_fault_of_neither_ends_the_process),
                isolated_test(a_program_may_unload_it),
        };
        return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}
