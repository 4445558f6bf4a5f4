/* SPDX-License-Identifier: MIT */

/*
 * Two processes increment one counter in a mapped file, and no increment is lost.
 *
 * The increment is plain C, ++*count; xbegin() and xend() around it make it safe. Who loses the race is
 * told XAC_CONFLICT and runs the same lines again. When xend() returns 0 it is on disk.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { PROCESSES = 2, INCREMENTS = 1000 };

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "counter: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

/* Every process opens and maps for itself: an environment does not survive fork(). */
static long *map_count(xac_env **env)
{
        must(xac_open("counter.xac", XAC_CREATE, NULL, env), "xac_open");
        long *count = xac_mmap(*env, "count", sizeof(*count), 0);
        if (count == MAP_FAILED) {
                perror("counter: xac_mmap");
                exit(EXIT_FAILURE);
        }
        return count;
}

static void increment(int times)
{
        xac_env *env;
        long *count = map_count(&env);

        for (int i = 0; i < times; i++) {
                int err;
                do {
                        must(xbegin(env, 0), "xbegin");
                        ++*count;
                        err = xend(env);
                } while (err == XAC_CONFLICT);
                must(err, "xend");
        }
        must(xac_close(env), "xac_close");
        exit(EXIT_SUCCESS);
}

int main(void)
{
        xac_env *env;
        long *count = map_count(&env);
        must(xbegin(env, 0), "xbegin");
        *count = 0;
        must(xend(env), "xend"); /* nobody else is here yet: no conflict */

        for (int i = 0; i < PROCESSES; i++)
                if (fork() == 0)
                        increment(INCREMENTS);
        for (int status; wait(&status) > 0;)
                if (status != 0)
                        return EXIT_FAILURE;

        must(xbegin(env, XAC_RDONLY), "xbegin");
        long result = *count;
        must(xend(env), "xend");
        printf("%d processes, %d increments each: the count is %ld\n", PROCESSES, INCREMENTS, result);
        must(xac_close(env), "xac_close");
        return EXIT_SUCCESS;
}
