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
        long first, end; /* how many tasks were ever taken out, and put in */
        long task[SLOTS];
        long sum; /* of the tasks that were done */
};

static xac_env *env;
static struct queue *queue;

static void must(int is_good, const char *what)
{
        if (!is_good) {
                fprintf(stderr, "queue: %s failed\n", what);
                exit(EXIT_FAILURE);
        }
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

static long is_over, sum;

static int take(void *unused)
{
        (void)unused;
        is_over = queue->first == TASKS;
        sum = queue->sum;
        if (is_over)
                return 0;
        if (queue->first == queue->end)
                return xac_wait(env, NULL);
        long task = queue->task[queue->first++ % SLOTS];
        queue->sum += task; /* the work, in the same transaction: done once, whoever dies */
        return 0;
}

static void work(void)
{
        open_queue();
        do
                must(xac_run(env, 0, take, NULL) == 0, "take");
        while (!is_over);
        exit(xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS);
}

int main(void)
{
        for (int i = 0; i < WORKERS; i++)
                if (fork() == 0)
                        work();
        open_queue();
        for (long task = 1; task <= TASKS; task++)
                must(xac_run(env, 0, put, &task) == 0, "put");
        for (int status; wait(&status) > 0;)
                must(status == 0, "a worker");
        must(xac_run(env, XAC_RDONLY, take, NULL) == 0, "take"); /* it finds that all is over, and the sum */
        printf("%d workers did %d tasks, whose sum is %ld\n", WORKERS, TASKS, sum);
        return xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS;
}
