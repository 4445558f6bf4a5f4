/* SPDX-License-Identifier: MIT */

/*
 * Four workers share a list of tasks; two are killed with one in their hands. Who takes a task notes xac_self() in it,
 * and it is taken over when that is not xac_alive() any more. Who waits looks now and then: a death changes nothing.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { TASKS = 40, WORKERS = 4, DOOMED = 2 };

struct task {
        uint64_t worker;     /* who has taken it; 0: nobody */
        int takeovers, done; /* how often */
};

static xac_env *env; /* each process has its own */
static struct task *tasks;

/* The first that is not done, and that nobody alive has. */
static int take(void *taken)
{
        int undone = 0;
        for (struct task *task = tasks; task < tasks + TASKS; task++) {
                if (task->done || (++undone && task->worker && xac_alive(env, task->worker)))
                        continue;
                task->takeovers += task->worker != 0;
                task->worker = xac_self(env);
                *(struct task **)taken = task;
                return 0;
        }
        return undone ? xac_wait(env, &(struct timespec){ .tv_nsec = 100000000 }) : -ENOENT;
}

static int finish(void *task)
{
        ((struct task *)task)->done++;
        return 0;
}

static void open_queue(void)
{
        int err = xac_open("queue.xac", XAC_CREATE, NULL, &env);
        tasks = err ? MAP_FAILED : xac_mmap(env, "tasks", TASKS * sizeof(*tasks), 0);
        if (tasks == MAP_FAILED)
                exit(EXIT_FAILURE);
}

static void work(int worker)
{
        struct task *task;
        int err;
        open_queue();
        while ((err = xac_run(env, 0, take, &task)) == 0 || err == -ETIMEDOUT)
                if (!err && worker < DOOMED)
                        raise(SIGKILL); /* in the middle of the task's work */
                else if (!err)
                        xac_run(env, 0, finish, task);
        exit(xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS);
}

int main(void)
{
        int takeovers = 0, once = 0;
        for (int i = 0; i < WORKERS; i++)
                if (fork() == 0)
                        work(i);
                else if (i < DOOMED)
                        wait(NULL);
        while (wait(NULL) > 0)
                continue;
        open_queue();
        for (int i = 0; i < TASKS && xbegin(env, XAC_RDONLY) == 0; i++) {
                takeovers += tasks[i].takeovers;
                once += tasks[i].done == 1;
                xend(env);
        }
        printf("%d workers were killed, %d times a task was taken over, %d of %d tasks were done once\n", DOOMED,
               takeovers, once, TASKS);
        return xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS;
}
