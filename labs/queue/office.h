/* SPDX-License-Identifier: MIT */
#ifndef LABS_QUEUE_OFFICE_H
#define LABS_QUEUE_OFFICE_H

/* The queue in an environment, and what its processes have done. */

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "labs/queue/acts.h"
#include "labs/queue/queue.h"

enum { TASKS_MOST = 200 };

/* What processes have done so far, in memory that they share. Tasks have numbers from 1 on. */
struct diary {
        atomic_int taken[TASKS_MOST]; /* how often queue_take() has returned it */
        atomic_int done[TASKS_MOST];  /* how often queue_done() has returned 0 for it */
        atomic_int first;             /* the task that office_work() has taken first, last time */
        atomic_int ended;             /* workers to whom queue_take() has said QUEUE_END */
        atomic_int flag;              /* for the tests */
};

extern struct queue *queue;
extern xac_env *queue_env;
extern struct diary *diary;

/* Each process opens it for itself, which makes it, or its host (labs/grader/host.h), a user of its own. */
void office_open(void);
void office_close(void);

/* An empty queue and diary, and then tasks 1 to `tasks`. */
void office_begin(int tasks);

/* worker_join(), but not for ever: fails the test if it has not ended within so long; `waits` says for what it waits.
 */
void office_join(pid_t worker, const char *what, const char *waits);

/* queue_...(), into the diary. Whatever a call returns that it must not return fails the test. */
void office_put(int number);
int office_take(void); /* the task, or 0: QUEUE_END */
void office_done(int number);
void office_shut(void);
int office_try_put(int number); /* what it returns, whatever it is */
int office_try_done(int number);

/* Takes a task and does it, until QUEUE_END. */
void office_work(void *arg);

/* What happens from now on when the answer reads or writes the queue in this process. */
void office_watch(enum watch watch);

/* Each of the tasks has been done, once. */
void check_all_done(int tasks);

/* For steps_show(). */
void field_name(size_t offset, char *name, size_t name_bytes);

#endif
