/* SPDX-License-Identifier: MIT */
#ifndef LABS_QUEUE_DEATHS_H
#define LABS_QUEUE_DEATHS_H

/* Workers die, or seem to. Each fails the test if a task is lost, or is done by two. */

#include <stdbool.h>

/* A takes a task and does it, and is killed before each of its steps. What it has not done is there for others, and is
 * the first that they get. */
void death_at_each_step(void);

/* B waits, as A has the only task. A is killed: B gets it. */
void death_while_others_wait(void);

/* A has the only task, and closes the environment; its process goes on. B gets the task. */
void leaving_while_others_wait(void);

/* B waits, as A has the only task. A takes its time, and may be stopped meanwhile, or the queue be closed: B does not
 * get it, and nobody else can be done with it. */
void life_while_others_wait(bool is_stopped, bool is_closed);

/* Workers are killed at random, and others come, until all tasks are done. */
void deaths_at_random(int tasks, int workers, int kills);

#endif
