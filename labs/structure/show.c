/* SPDX-License-Identifier: MIT */

/*
 * `make show`: your table under one lock, a table with a lock in each bucket, your table in transactions, and a B+-tree
 * in transactions, by one, two and four processes. Half of the operations get, the others put or delete, keys at
 * random.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/scratch.h"
#include "labs/grader/worker.h"
#include "labs/structure/rivals.h"
#include "labs/structure/table.h"

enum { CREWS = 3, RUN_MS = 300, BATCH = 16, KEYS = TABLE_KEYS - 100 };

static const int crews[CREWS] = { 1, 2, 4 };

static struct progress {
        atomic_int to_go; /* processes that have not yet come to the start */
        atomic_ulong operations;
} * progress;

static double seconds_now(void)
{
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t random_key(void)
{
        return grader_random(KEYS) * 0x9e3779b97f4a7c15U;
}

static void work(void *arg)
{
        const struct rival *rival = arg;
        uint64_t value;
        unsigned long done = 0;
        rival->open();
        atomic_fetch_sub(&progress->to_go, 1);
        while (atomic_load(&progress->to_go) > 0)
                nanosleep(&(struct timespec){ 0, 100000 }, NULL);
        for (double end = seconds_now() + RUN_MS / 1e3; seconds_now() < end; done += 2UL * BATCH)
                for (int i = 0; i < BATCH; i++) {
                        if (grader_random(2))
                                rival->put(random_key(), (uint64_t)i);
                        else
                                rival->remove(random_key());
                        rival->get(random_key(), &value);
                }
        atomic_fetch_add(&progress->operations, done);
        rival->close();
}

static void measure(const struct rival *rival)
{
        printf("%-26s", rival->name);
        rival->prepare();
        for (int i = 0; i < CREWS; i++) {
                uint64_t before = rival->conflicts ? rival->conflicts() : 0;
                progress->to_go = crews[i];
                progress->operations = 0;
                worker_crew(crews[i], work, (void *)rival);
                double operations = (double)progress->operations;
                printf("%12.0f", operations / (RUN_MS / 1e3));
                if (rival->conflicts)
                        printf(" %5.1f %%", 100 * (double)(rival->conflicts() - before) / operations);
                else
                        printf("        ");
                fflush(stdout);
        }
        rival->close();
        printf("\n");
}

int main(void)
{
        int err = scratch_enter(environment_clean);
        if (err) {
                fprintf(stderr, "no folder for files: %s\n", strerror(-err));
                return EXIT_FAILURE;
        }
        progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(progress != MAP_FAILED, "mmap: %s", strerror(errno));
        printf("operations a second, by so many processes on %ld processors; transactions that began again\n",
               sysconf(_SC_NPROCESSORS_ONLN));
        printf("%-26s%12d        %12d        %12d\n", "", crews[0], crews[1], crews[2]);
        for (int i = 0; i < RIVALS; i++)
                measure(&rivals[i]);
        return EXIT_SUCCESS;
}
