/* SPDX-License-Identifier: MIT */
#include "bench/cost/cost.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/support/options.h"

enum { PAGES = 256 };

/* These two take the place of the C library's, for libxac, too. */
// NOLINTNEXTLINE(readability-*): its names of parameters are reserved
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *arg), void *arg)
{
        (void)thread;
        (void)attributes;
        (void)begin;
        (void)arg;
        return EAGAIN;
}

// NOLINTNEXTLINE(readability-*)
int clock_gettime(clockid_t clock, struct timespec *time)
{
        (void)clock;
        *time = (struct timespec){ .tv_sec = 1000 };
        return 0;
}

/* What stands behind the call keeps it a call. */
__attribute__((noinline)) void cost_measured(const struct cost_loop *loop, struct cost_load *load)
{
        loop->run(load, loop->times);
        __asm__ volatile("");
}

static void measure(const struct cost_loop *loop)
{
        struct cost_load load = { .next = 0 };

        scratch_make(&load.scratch, PAGES);
        scratch_open(&load.scratch, 0);
        scratch_fill(&load.scratch);
        if (loop->prepare)
                loop->prepare(&load);
        loop->run(&load, loop->times);
        cost_measured(loop, &load);
        if (load.close)
                load.close(&load);
        if (load.scratch.env)
                scratch_close(&load.scratch);
        scratch_remove(&load.scratch);
}

/* The loop of this name; NULL: prints all, and how often each is run. */
static const struct cost_loop *find(const struct cost_loops *const *kinds, const char *name)
{
        for (; *kinds; kinds++)
                for (size_t i = 0; i < (*kinds)->count; i++) {
                        const struct cost_loop *loop = &(*kinds)->loop[i];
                        if (!name)
                                printf("%llu %s\n", (unsigned long long)loop->times, loop->name);
                        else if (strcmp(loop->name, name) == 0)
                                return loop;
                }
        return NULL;
}

int cost_main(int argc, char **argv, const struct cost_loops *const *kinds)
{
        const char *name = NULL;
        const struct option_spec options[] = {
                OPTION_TEXT("loop", name, "which one to run; without it all are listed, and how often each goes round"),
                OPTION_END,
        };
        options_parse(argc, argv, "Loops whose instructions bench/cost/run counts.", options);

        const struct cost_loop *loop = find(kinds, name);
        if (loop)
                measure(loop);
        else if (name)
                options_refuse("no such loop", name);
        return EXIT_SUCCESS;
}
