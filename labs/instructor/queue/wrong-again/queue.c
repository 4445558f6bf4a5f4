/* SPDX-License-Identifier: MIT */

/* Wrong: who waits wakes each second, though nothing changes and nobody is there who could die. */

#include "labs/queue/queue.h"

#include <errno.h>
#include <time.h>

enum { LOOK_NS = 50000000 }; /* how soon a death is noticed: it changes nothing, and so wakes nobody */

struct call {
        xac_env *env;
        struct queue *queue;
        long number;
};

static int put_body(void *arg)
{
        const struct call *call = arg;
        struct queue *queue = call->queue;
        if (queue->is_closed)
                return QUEUE_END;
        if (queue->count == SLOTS)
                return xac_wait(call->env, &(struct timespec){ .tv_sec = 1 });
        queue->task[queue->count].number = call->number;
        queue->task[queue->count].worker = 0;
        queue->count++;
        return 0;
}

int queue_put(xac_env *env, struct queue *queue, long number)
{
        int err;
        do
                err = xac_run(env, 0, put_body, &(struct call){ env, queue, number });
        while (err == -ETIMEDOUT);
        return err;
}

/* An error of xac_alive() is not taken for death. */
static bool is_free(xac_env *env, const struct task *task)
{
        return task->worker == 0 || xac_alive(env, task->worker) == 0;
}

static int take_body(void *arg)
{
        struct call *call = arg;
        struct queue *queue = call->queue;
        for (long i = 0; i < queue->count; i++) {
                struct task *task = &queue->task[i];
                if (!is_free(call->env, task))
                        continue;
                task->worker = xac_self(call->env);
                call->number = task->number;
                return 0;
        }
        if (queue->count > 0)
                return xac_wait(call->env, &(struct timespec){ .tv_nsec = LOOK_NS });
        return queue->is_closed ? QUEUE_END : xac_wait(call->env, &(struct timespec){ .tv_sec = 1 });
}

int queue_take(xac_env *env, struct queue *queue, long *number)
{
        struct call call = { env, queue, 0 };
        int err;
        do
                err = xac_run(env, 0, take_body, &call);
        while (err == -ETIMEDOUT); /* has one of the workers died? */
        if (err == 0)
                *number = call.number;
        return err;
}

static int done_body(void *arg)
{
        const struct call *call = arg;
        struct queue *queue = call->queue;
        long i = 0;
        while (i < queue->count && queue->task[i].number != call->number)
                i++;
        if (i == queue->count || queue->task[i].worker != xac_self(call->env))
                return QUEUE_UNKNOWN;
        for (queue->count--; i < queue->count; i++)
                queue->task[i] = queue->task[i + 1];
        return 0;
}

int queue_done(xac_env *env, struct queue *queue, long number)
{
        return xac_run(env, 0, done_body, &(struct call){ env, queue, number });
}

static int close_body(void *arg)
{
        const struct call *call = arg;
        call->queue->is_closed = 1;
        return 0;
}

int queue_close(xac_env *env, struct queue *queue)
{
        return xac_run(env, 0, close_body, &(struct call){ env, queue, 0 });
}
