/* SPDX-License-Identifier: MIT */
#ifndef TESTS_COMPILER_PROGRAMS_H
#define TESTS_COMPILER_PROGRAMS_H

/* What random programs (generate.c) are run by. Everything is compiled by xac-cc, with the program. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

enum { PROGRAMS_RUNS = 20 };

/* Members of a packed object may lie anywhere. */
typedef uint8_t uint8_t_anywhere;
typedef uint16_t uint16_t_anywhere __attribute__((aligned(1)));
typedef uint32_t uint32_t_anywhere __attribute__((aligned(1)));
typedef uint64_t uint64_t_anywhere __attribute__((aligned(1)));

static struct programs {
        xac_env *env;
        size_t size;
        uint64_t seed;
        char *in_view, *in_memory;
        uint64_t (*run)(void *object, uint64_t seed);
        uint64_t (*digest)(void *object);
        pthread_barrier_t barrier;
} programs;

static char *programs_map(void)
{
        char *view = xac_mmap(programs.env, "object", programs.size + 8192, XAC_SHARED);
        if (view == MAP_FAILED) {
                perror("xac_mmap");
                exit(1);
        }
        return view;
}

/* With two threads that have the view, an access that is not translated ends the program. */
static void *programs_stay(void *unused)
{
        programs_map();
        pthread_barrier_wait(&programs.barrier);
        pthread_barrier_wait(&programs.barrier);
        return unused;
}

static int programs_run_both(void *unused)
{
        (void)unused;
        memset(programs.in_view, (int)(programs.seed % 7), programs.size);
        memset(programs.in_memory, (int)(programs.seed % 7), programs.size);
        const uint64_t seen = programs.run(programs.in_view, programs.seed);
        const uint64_t expected = programs.run(programs.in_memory, programs.seed);
        if (seen == expected && programs.digest(programs.in_view) == programs.digest(programs.in_memory))
                return 0;
        printf("run %llu differs: %llx, not %llx\n", (unsigned long long)programs.seed, (unsigned long long)seen,
               (unsigned long long)expected);
        return 1;
}

/* The object lies so many bytes behind the begin of a page. */
static int programs_compare(const char *dir, size_t size, size_t offset, uint64_t (*run)(void *object, uint64_t seed),
                            uint64_t (*digest)(void *object))
{
        pthread_t other;
        programs = (struct programs){ .size = size, .run = run, .digest = digest };
        int err = xac_open(dir, XAC_CREATE | XAC_VOLATILE, NULL, &programs.env);
        if (err) {
                printf("%s\n", xac_strerror(err));
                return 1;
        }
        programs.in_view = programs_map() + offset;
        programs.in_memory = aligned_alloc(4096, (size + 8191) / 4096 * 4096);
        pthread_barrier_init(&programs.barrier, NULL, 2);
        pthread_create(&other, NULL, programs_stay, NULL);
        pthread_barrier_wait(&programs.barrier);
        for (programs.seed = 1; !err && programs.seed <= PROGRAMS_RUNS; programs.seed++)
                err = xac_run(programs.env, 0, programs_run_both, NULL);
        pthread_barrier_wait(&programs.barrier);
        pthread_join(other, NULL);
        free(programs.in_memory);
        return xac_close(programs.env) || err;
}

#endif
