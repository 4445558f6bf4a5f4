/* SPDX-License-Identifier: MIT */

/*
 * Two processes increment one counter in a mapped file, and no increment is lost.
 *
 * The increment is plain C, ++*count; xac_run() makes it safe. It runs the body again where that has lost the race.
 * When it returns 0, the increment is on disk.
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

/* A transaction's body; if it returned anything but 0, it would be undone. */
static int increment(void *count)
{
        ++*(long *)count;
        return 0;
}

static int start_anew(void *count)
{
        *(long *)count = 0;
        return 0;
}

static void count_up(int times)
{
        xac_env *env;
        long *count = map_count(&env);

        for (int i = 0; i < times; i++)
                must(xac_run(env, 0, increment, count), "xac_run");
        must(xac_close(env), "xac_close");
        exit(EXIT_SUCCESS);
}

int main(void)
{
        xac_env *env;
        long *count = map_count(&env);
        must(xac_run(env, 0, start_anew, count), "xac_run");
        for (int i = 0; i < PROCESSES; i++)
                if (fork() == 0)
                        count_up(INCREMENTS);
        for (int status; wait(&status) > 0;)
                if (status != 0)
                        return EXIT_FAILURE;

        must(xbegin(env, XAC_RDONLY), "xbegin"); /* by hand: a transaction that only reads never loses */
        long result = *count;
        must(xend(env), "xend");
        printf("%d processes, %d increments each: the count is %ld\n", PROCESSES, INCREMENTS, result);
        must(xac_close(env), "xac_close");
        return EXIT_SUCCESS;
}
