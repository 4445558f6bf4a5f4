/* SPDX-License-Identifier: MIT */

/*
 * Does the work of modes.h in ordinary memory and, in transactions, in a view that another thread shares, where an
 * access that was not translated ends the program. Both must give and leave the same, without a fault. This file
 * touches no view: any compiler will do. DIRECTORY is a new one.
 *
 *      modes DIRECTORY [LIBRARY]       the work of this program, or of a library that is loaded while it runs
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/compiler/modes.h"

enum { RUNS = 20 };

/* Where a library has them, the program has none. */
#pragma weak modes_work
#pragma weak modes_is_same

static struct modes_area *in_view;
static modes_work_function *work = modes_work;
static modes_is_same_function *is_same = modes_is_same;
static uint64_t seed_of_run, seen;
static pthread_barrier_t barrier;

static _Noreturn void fail(const char *what)
{
        printf("%s\n", what);
        exit(1);
}

static struct modes_area *share(xac_env *env)
{
        struct modes_area *view = xac_mmap(env, "modes", sizeof(*view), XAC_SHARED);
        if (view == MAP_FAILED)
                fail("xac_mmap");
        return view;
}

static void *stay(void *env)
{
        share(env);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        return NULL;
}

static int work_in_view(void *unused)
{
        (void)unused;
        seen = work(in_view, seed_of_run);
        return 0;
}

static int compare(void *in_memory)
{
        return is_same(in_view, in_memory, sizeof(*in_view));
}

static void run_all(xac_env *env)
{
        struct modes_area *in_memory = calloc(1, sizeof(*in_memory));
        if (in_memory == NULL)
                fail("calloc");
        for (seed_of_run = 1; seed_of_run <= RUNS; seed_of_run++) {
                const uint64_t expected = work(in_memory, seed_of_run);
                if (xac_run(env, 0, work_in_view, NULL) != 0)
                        fail("xac_run");
                if (seen != expected)
                        fail("it gives something else");
                if (xac_run(env, XAC_RDONLY, compare, in_memory) != 1)
                        fail("it leaves something else");
        }
        free(in_memory);
}

static void load(const char *library)
{
        void *loaded = dlopen(library, RTLD_NOW);
        if (loaded == NULL)
                fail(dlerror());
        *(void **)&work = dlsym(loaded, "modes_work");
        *(void **)&is_same = dlsym(loaded, "modes_is_same");
}

int main(int count, char **arguments)
{
        xac_env *env;
        pthread_t other;
        xac_stats stats;
        if (count > 2)
                load(arguments[2]);
        if (count < 2 || work == NULL || is_same == NULL)
                fail("usage: modes DIRECTORY [LIBRARY]");
        if (xac_open(arguments[1], XAC_CREATE | XAC_VOLATILE | XAC_STRICT, NULL, &env) != 0)
                fail("xac_open");
        in_view = share(env);
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_create(&other, NULL, stay, env);
        pthread_barrier_wait(&barrier);
        run_all(env);
        pthread_barrier_wait(&barrier);
        pthread_join(other, NULL);
        if (xac_stat(env, &stats) != 0 || stats.read_faults + stats.write_faults > 0)
                fail("page faults");
        return xac_close(env) != 0;
}
