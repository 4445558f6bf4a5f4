/* SPDX-License-Identifier: MIT */

/* Wrong: the queue lies in memory that processes share, under a robust mutex. The file holds but one number, by which a
 * new queue is told from the one before, and nothing is there when the last process has ended. */

#include "labs/queue/queue.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

void *host_memory(size_t byte_len); /* the grader's */

enum { WAITS_MOST = 60, WAIT_NS = 5000000 };

struct mine {
        int state; /* 0, 1: it is being made, 2 */
        pthread_mutex_t lock;
        long age;
        struct queue queue;
};

static struct mine *get_mine(void)
{
        struct mine *mine = host_memory(sizeof(*mine));
        int none = 0;
        if (__atomic_compare_exchange_n(&mine->state, &none, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
                pthread_mutexattr_t attributes;
                pthread_mutexattr_init(&attributes);
                pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
                pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
                pthread_mutex_init(&mine->lock, &attributes);
                __atomic_store_n(&mine->state, 2, __ATOMIC_SEQ_CST);
        }
        while (__atomic_load_n(&mine->state, __ATOMIC_SEQ_CST) != 2)
                continue;
        return mine;
}

static int age_body(void *arg)
{
        struct queue *queue = arg;
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (queue->count == 0)
                queue->count = now.tv_sec * 1000000000L + now.tv_nsec;
        return 0;
}

static struct mine *enter(xac_env *env, struct queue *queue)
{
        struct mine *mine = get_mine();
        xac_run(env, 0, age_body, queue);
        if (pthread_mutex_lock(&mine->lock) == EOWNERDEAD)
                pthread_mutex_consistent(&mine->lock);
        if (mine->age != queue->count) {
                memset(&mine->queue, 0, sizeof(mine->queue));
                mine->age = queue->count;
        }
        return mine;
}

static int leave(struct mine *mine, int err)
{
        pthread_mutex_unlock(&mine->lock);
        return err;
}

static void sleep_on(struct mine *mine)
{
        pthread_mutex_unlock(&mine->lock);
        nanosleep(&(struct timespec){ 0, WAIT_NS }, NULL);
        if (pthread_mutex_lock(&mine->lock) == EOWNERDEAD)
                pthread_mutex_consistent(&mine->lock);
}

int queue_put(xac_env *env, struct queue *queue, long number)
{
        struct mine *mine = enter(env, queue);
        struct queue *there = &mine->queue;
        for (int i = 0; i < WAITS_MOST && there->count == SLOTS && !there->is_closed; i++)
                sleep_on(mine);
        if (there->is_closed)
                return leave(mine, QUEUE_END);
        if (there->count == SLOTS)
                return leave(mine, -ETIMEDOUT);
        there->task[there->count++] = (struct task){ number, 0 };
        return leave(mine, 0);
}

static struct task *find_free(xac_env *env, struct queue *queue)
{
        for (long i = 0; i < queue->count; i++)
                if (queue->task[i].worker == 0 || xac_alive(env, queue->task[i].worker) == 0)
                        return &queue->task[i];
        return NULL;
}

int queue_take(xac_env *env, struct queue *queue, long *number)
{
        struct mine *mine = enter(env, queue);
        struct task *task = find_free(env, &mine->queue);
        for (int i = 0; i < WAITS_MOST && task == NULL && !(mine->queue.is_closed && mine->queue.count == 0); i++) {
                sleep_on(mine);
                task = find_free(env, &mine->queue);
        }
        if (task == NULL)
                return leave(mine, mine->queue.is_closed && mine->queue.count == 0 ? QUEUE_END : -ETIMEDOUT);
        task->worker = xac_self(env);
        *number = task->number;
        return leave(mine, 0);
}

int queue_done(xac_env *env, struct queue *queue, long number)
{
        struct mine *mine = enter(env, queue);
        struct queue *there = &mine->queue;
        long i = 0;
        while (i < there->count && there->task[i].number != number)
                i++;
        if (i == there->count || there->task[i].worker != xac_self(env))
                return leave(mine, QUEUE_UNKNOWN);
        for (there->count--; i < there->count; i++)
                there->task[i] = there->task[i + 1];
        return leave(mine, 0);
}

int queue_close(xac_env *env, struct queue *queue)
{
        struct mine *mine = enter(env, queue);
        mine->queue.is_closed = 1;
        return leave(mine, 0);
}
