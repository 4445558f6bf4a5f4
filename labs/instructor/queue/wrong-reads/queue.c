/* SPDX-License-Identifier: MIT */

/* Wrong: one transaction sees that there is nothing to do, and another one waits, as in wrong-two. Before it looks it
 * reads so often that nobody who stops it at its first steps comes to what is in between. */

#include "labs/queue/queue.h"

#include <errno.h>
#include <time.h>

enum { NOT_NOW = -3, READS = 40 };
enum { LOOK_NS = 50000000 }; /* how soon a death is noticed: it changes nothing, and so wakes nobody */

struct call {
        xac_env *env;
        struct queue *queue;
        long number;
};

/* Until the queue changes. */
static void wait_for_change(xac_env *env, const struct queue *queue)
{
        volatile long count;
        xbegin(env, 0);
        count = queue->count;
        (void)count;
        xac_wait(env, NULL);
}

static int read_in_vain(void *queue)
{
        volatile long count;
        for (int i = 0; i < READS; i++)
                count = ((const struct queue *)queue)->count;
        (void)count;
        return 0;
}

static int put_body(void *arg)
{
        const struct call *call = arg;
        struct queue *queue = call->queue;
        if (queue->is_closed)
                return QUEUE_END;
        if (queue->count == SLOTS)
                return NOT_NOW;
        queue->task[queue->count].number = call->number;
        queue->task[queue->count].worker = 0;
        queue->count++;
        return 0;
}

int queue_put(xac_env *env, struct queue *queue, long number)
{
        int err;
        xac_run(env, XAC_RDONLY, read_in_vain, queue);
        while ((err = xac_run(env, 0, put_body, &(struct call){ env, queue, number })) == NOT_NOW)
                wait_for_change(env, queue);
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
        return queue->is_closed ? QUEUE_END : NOT_NOW;
}

int queue_take(xac_env *env, struct queue *queue, long *number)
{
        struct call call = { env, queue, 0 };
        int err;
        xac_run(env, XAC_RDONLY, read_in_vain, queue);
        while ((err = xac_run(env, 0, take_body, &call)) == -ETIMEDOUT || err == NOT_NOW)
                if (err == NOT_NOW)
                        wait_for_change(env, queue);
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
