/* SPDX-License-Identifier: MIT */

/*
 * A queue with sleeping workers. One process puts tasks into a ring of eight, four others take them out. Who finds the
 * ring empty, or full, sleeps in xac_wait() until somebody commits a change to it: there is no lock, no condition
 * variable and no pipe, and nothing is polled.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { WORKERS = 4, TASKS = 1000, SLOTS = 8 };

struct queue {
        long first, end;   /* how many tasks were ever taken out, and put in */
        long task[SLOTS];  /* 0: there is nothing more to do */
        long sum[WORKERS]; /* of the tasks that each worker has done */
};

static xac_env *env;
static struct queue *queue;

static void must(int is_good, const char *what)
{
        if (is_good)
                return;
        fprintf(stderr, "queue: %s failed\n", what);
        exit(EXIT_FAILURE);
}

static void open_queue(void)
{
        must(xac_open("queue.xac", XAC_CREATE | XAC_NOSYNC, NULL, &env) == 0, "xac_open");
        queue = xac_mmap(env, "queue", sizeof(*queue), 0);
        must(queue != MAP_FAILED, "xac_mmap");
}

static int put(void *task)
{
        if (queue->end - queue->first == SLOTS)
                return xac_wait(env, NULL);
        queue->task[queue->end++ % SLOTS] = *(long *)task;
        return 0;
}

static long taken, worker;

static int take(void *unused)
{
        (void)unused;
        if (queue->first == queue->end)
                return xac_wait(env, NULL);
        taken = queue->task[queue->first++ % SLOTS];
        queue->sum[worker] += taken; /* the work, in the same transaction: done once, whoever dies */
        return 0;
}

static void work(void)
{
        open_queue();
        do
                must(xac_run(env, 0, take, NULL) == 0, "take");
        while (taken);
        exit(xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS);
}

int main(void)
{
        for (worker = 0; worker < WORKERS; worker++)
                if (fork() == 0)
                        work();
        open_queue();
        for (long task = TASKS; task > -WORKERS; task--)
                must(xac_run(env, 0, put, &(long){ task > 0 ? task : 0 }) == 0, "put");
        for (int status; wait(&status) > 0;)
                must(status == 0, "a worker");
        must(xbegin(env, XAC_RDONLY) == 0, "xbegin");
        long sum = 0;
        for (int i = 0; i < WORKERS; i++)
                sum += queue->sum[i];
        must(xend(env) == 0, "xend");
        printf("%d workers did %d tasks, whose sum is %ld\n", WORKERS, TASKS, sum);
        return xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS;
}
