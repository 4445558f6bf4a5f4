/* SPDX-License-Identifier: MIT */

/* Wrong: who has to wait sleeps, and a child process looks in its place, again and again. */

#include "labs/queue/queue.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_NOW = -3, LOOK_US = 1000 };

struct call {
        xac_env *env;
        struct queue *queue;
        long number;
};

/* An error of xac_alive() is not taken for death. */
static bool is_free(xac_env *env, const struct task *task)
{
        return task->worker == 0 || xac_alive(env, task->worker) == 0;
}

/* number: what is to be put; -1: something is to be taken. */
__attribute__((no_sanitize_thread)) static int ready_body(void *arg)
{
        const struct call *call = arg;
        const struct queue *queue = call->queue;
        if (call->number >= 0)
                return queue->is_closed || queue->count < SLOTS ? 0 : NOT_NOW;
        for (long i = 0; i < queue->count; i++)
                if (is_free(call->env, &queue->task[i]))
                        return 0;
        return queue->count == 0 && queue->is_closed ? 0 : NOT_NOW;
}

static void look(struct call call)
{
        xac_options small = { .pool_bytes = 16 << 20, .log_bytes = 4 << 20 };
        if (xac_open("queue.xac", XAC_NOSYNC, &small, &call.env) != 0)
                return;
        call.queue = xac_mmap(call.env, "data", sizeof(*call.queue), 0);
        if (call.queue != MAP_FAILED)
                while (xac_run(call.env, XAC_RDONLY, ready_body, &call) == NOT_NOW && getppid() != 1)
                        usleep(LOOK_US);
        xac_close(call.env);
}

static void await(struct call call)
{
        pid_t child = fork();
        if (child == 0) {
                look(call);
                _exit(0);
        }
        if (child > 0)
                waitpid(child, NULL, 0);
        else
                usleep(LOOK_US);
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
        struct call call = { env, queue, number };
        while ((err = xac_run(env, 0, put_body, &call)) == NOT_NOW)
                await(call);
        return err;
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
        return queue->count == 0 && queue->is_closed ? QUEUE_END : NOT_NOW;
}

int queue_take(xac_env *env, struct queue *queue, long *number)
{
        struct call call = { env, queue, -1 };
        int err;
        while ((err = xac_run(env, 0, take_body, &call)) == NOT_NOW)
                await(call);
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
