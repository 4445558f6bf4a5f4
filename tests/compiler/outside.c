/* SPDX-License-Identifier: MIT */

/* Compiled code that touches a view of two threads between transactions. And a function that has the name of one of the
 * C library's (test_says.sh defines it). */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/xac.h>

extern int index(const long *numbers, long number); // NOLINT

static xac_env *env;
static pthread_barrier_t barrier;

static long *map(void)
{
        long *view = xac_mmap(env, "numbers", 4096, XAC_SHARED);
        if (view == MAP_FAILED) {
                perror("xac_mmap");
                exit(1);
        }
        return view;
}

static void *stay(void *unused)
{
        map();
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        return unused;
}

static int find(void *numbers)
{
        ((long *)numbers)[3] = 5;
        return index(numbers, 5) == 3 ? 0 : 1;
}

int main(int count, char **arguments)
{
        pthread_t other;
        if (count != 2 || xac_open(arguments[1], XAC_CREATE | XAC_VOLATILE, NULL, &env))
                return 2;
        long *numbers = map();
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_create(&other, NULL, stay, NULL);
        pthread_barrier_wait(&barrier);
        if (xac_run(env, 0, find, numbers))
                return 3;
        fprintf(stderr, "now\n");
        numbers[3] = 6;
        return 4;
}
