/* SPDX-License-Identifier: MIT */
#ifndef LABS_QUEUE_QUEUE_H
#define LABS_QUEUE_QUEUE_H

/*
 * A bounded queue of tasks in a mapped file. Processes put tasks into it; others, the workers, take them, work, and say
 * that they are done. Any process may be killed at any time. What you write stands in queue.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/xac.h>

#include "labs/queue/variant.h" /* SLOTS, QUEUE_END, QUEUE_UNKNOWN */

struct task {
        long number;     /* what is to be done; no two tasks have the same */
        uint64_t worker; /* xac_self() of whoever has taken it; 0: nobody */
};

/* All zeros: a new queue, empty and open. The grader does not look into it: use the fields as you like. */
struct queue {
        long count;              /* of tasks that are not done */
        long is_closed;          /* no more will come */
        struct task task[SLOTS]; /* the first `count` of them, in the order in which they were put */
};

/* Each is a transaction of its own, over a view of a file of `env`, and returns 0 or one of the codes below, or the
 * error of libxac. They sleep while they wait: no processor time is used while nothing changes. */

/* Puts a task into the queue. Waits while SLOTS tasks are there that are not done. QUEUE_END: the queue is closed, be
 * it before the call or while it waits; the task has not been put. */
int queue_put(xac_env *env, struct queue *queue, long number);

/* Takes the oldest task that nobody alive has: one that was never taken, or whose worker has died meanwhile, or closed
 * the environment, which is the same to xac_alive(). Waits while there is none. QUEUE_END: the queue is closed, and all
 * tasks are done. While others still work on some, it waits, as they may die. */
int queue_take(xac_env *env, struct queue *queue, long *number);

/* The caller has done the task that it has taken: it is gone for good, and leaves room for another one. QUEUE_UNKNOWN:
 * the caller has no such task, whoever else may have it. */
int queue_done(xac_env *env, struct queue *queue, long number);

/* No more tasks will be put. */
int queue_close(xac_env *env, struct queue *queue);

#endif
