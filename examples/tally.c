/* SPDX-License-Identifier: MIT */

/*
 * Four processes count, each for itself, and yet get into each other's way: their numbers lie on one page, and
 * conflicts are found by page. A trace says so (docs/TRACE.md); so does a second round, in which each number has a page
 * of its own.
 *
 *      XAC_TRACE=tally.trace examples/tally && xac trace tally.trace
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { PROCESSES = 4, TIMES = 200, WORK_US = 100, BESIDE = 64, APART = 4096 };

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "tally: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

static char *map_numbers(xac_env **env)
{
        must(xac_open("tally.xac", XAC_CREATE | XAC_NOSYNC, NULL, env), "xac_open");
        char *numbers = xac_mmap(*env, "numbers", (size_t)PROCESSES * APART, 0);
        if (numbers == MAP_FAILED) {
                perror("tally: xac_mmap");
                exit(EXIT_FAILURE);
        }
        return numbers;
}

/* Something takes time, as in a real program: meanwhile others commit. */
static int count(void *number)
{
        ++*(long *)number;
        usleep(WORK_US);
        return 0;
}

static void count_as(int process, int distance)
{
        xac_env *env;
        char *numbers = map_numbers(&env);
        for (int i = 0; i < TIMES; i++)
                must(xac_run(env, 0, count, numbers + (long)process * distance), "xac_run");
        must(xac_close(env), "xac_close");
        exit(EXIT_SUCCESS);
}

static long total(int distance)
{
        xac_env *env;
        char *numbers = map_numbers(&env);
        long sum = 0;
        must(xbegin(env, 0), "xbegin");
        for (int i = 0; i < PROCESSES; i++) {
                sum += *(long *)(numbers + (long)i * distance);
                *(long *)(numbers + (long)i * distance) = 0;
        }
        must(xend(env), "xend");
        must(xac_close(env), "xac_close");
        return sum;
}

int main(void)
{
        for (int distance = BESIDE; distance <= APART; distance *= APART / BESIDE) {
                (void)total(distance);
                for (int i = 0; i < PROCESSES; i++)
                        if (fork() == 0)
                                count_as(i, distance);
                while (wait(NULL) > 0)
                        ;
                printf("numbers %d bytes apart: counted to %ld\n", distance, total(distance));
                fflush(stdout);
        }
        return EXIT_SUCCESS;
}
