/* SPDX-License-Identifier: MIT */
#ifndef LABS_QUEUE_WAITING_H
#define LABS_QUEUE_WAITING_H

#include <stdbool.h>

/* Who waits is woken when there is something to do, and sleeps until then. Each fails the test if not. */

/* A takes from an empty queue, and is stopped before each of its steps, or sleeps; B puts a task, or closes. */
void wake_by_put(void);
void wake_by_close(void);

/* A puts into a full queue; B makes room, or closes. */
void wake_by_done(void);
void wake_putter_by_close(void);

/* Does the A of wake_by_put() sleep in the end, and that of wake_by_done()? They let it look again and again, which the
 * test of sleep does not; both tests ask this first, so that no A can tell in which it is. */
bool sleeps_when_met(void);

/* A takes from an empty queue, or puts into a full one, for a while: it must not look again and again. */
void sleep_in_take(void);
void sleep_in_put(void);

/* So many workers sleep, and so many tasks are put at once. */
void wake_many(int workers);

/* Producers put so many tasks each; workers do them. All stumble. */
void crew_run(int producers, int tasks_each, int workers);

#endif
