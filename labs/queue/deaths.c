/* SPDX-License-Identifier: MIT */

#include "labs/queue/deaths.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/grader.h"
#include "labs/grader/steps.h"
#include "labs/grader/worker.h"
#include "labs/queue/office.h"

enum {
        STEPS_MOST = 120,
        SHOWN_BYTES = 2500,
        WAIT_MS = 300,
        START_MS = 3000,
        NOTICE_MS = 2000,          /* so soon the death of a worker is noticed */
        WORK_MS = NOTICE_MS + 200, /* longer than that, by a time that is drawn, */
        WORK_DRAWN_MS = 800,       /* somebody works who lives */
        LOOK_MS = 10,
        CREW_MOST = 8
};

/* Waits until it is 1, for so long, or until the worker has ended. */
static void await(const atomic_int *value, pid_t worker, int idle_ms)
{
        int limit_ms = idle_ms * grader_patience();
        for (int ms = 0; *value == 0 && ms < limit_ms && !worker_has_ended(worker); ms++)
                poll(NULL, 0, 1);
        if (*value == 0 && worker_has_ended(worker))
                worker_join(worker, "a worker");
}

static void work(void *arg)
{
        office_open();
        office_work(arg);
        office_close();
}

/* ------------------------------------------------------------------ at each step */

/* flag: 1 it has taken task 1, 2 it is about to be done with it, 3 it is done. */
static void take_and_do(void *arg)
{
        (void)arg;
        office_open();
        office_watch(WATCH_STEPS);
        int number = office_take();
        diary->flag = 1;
        grader_check(number == 1, "task 1 is the oldest, and A took task %d", number);
        diary->flag = 2;
        office_done(number);
        office_watch(WATCH_NONE);
        diary->flag = 3;
        office_close();
}

static void check_tasks(void)
{
        char shown[SHOWN_BYTES];
        int a_done = diary->flag == 3, first = diary->done[1] - a_done, second = diary->done[2];
        steps_show(shown, sizeof(shown), field_name);
        grader_check(second == 1, "%safterwards B has done task 2, which A never had, %d times", shown, second);
        if (diary->flag != 2)
                grader_check(first == 1 - a_done, "%sA %s done with task 1; afterwards B has done it %d times", shown,
                             a_done ? "was" : "was not", first);
        else
                grader_check(first <= 1, "%sA was nearly done with task 1; afterwards B has done it %d times", shown,
                             first);
        grader_check(first == 0 || diary->first == 1,
                     "%sA is dead, and task 1 is the oldest that nobody has: B took task %d before it", shown,
                     diary->first);
}

void death_at_each_step(void)
{
        bool stands = true;
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                office_begin(2);
                stands = steps_kill(n, take_and_do, NULL);
                grader_check(stands || n > 1, "A took a task and never touched the queue");
                office_shut();
                pid_t b = worker_start(3, work, NULL);
                office_join(b, "B", "though A, which was killed, has left it a task or nothing: QUEUE_END");
                check_tasks();
        }
        steps_require_end(stands, STEPS_MOST, "A, who takes a task and does it,");
}

/* ------------------------------------------------------------------ others wait */

/* flag: 1 it has the task; it works on it until the test says 2. */
static void hold_task(void *arg)
{
        (void)arg;
        office_open();
        int number = office_take();
        grader_check(number == 1, "A took task %d, and 1 is there", number);
        diary->flag = 1;
        while (diary->flag == 1)
                poll(NULL, 0, 1);
        office_done(number);
        office_close();
}

/* A has the only task, and B waits. */
static void begin_waiting(pid_t *a, pid_t *b)
{
        office_begin(1);
        *a = worker_start(1, hold_task, NULL);
        await(&diary->flag, *a, START_MS);
        grader_check(diary->flag == 1, "one task is there, and A did not get it in %d s", START_MS / 1000);
        *b = worker_start(2, work, NULL);
        poll(NULL, 0, WAIT_MS);
        grader_check(diary->taken[1] == 1, "A has the only task, and lives: B got it, too");
        grader_check(diary->ended == 0, "A has the only task, and is not done: B was told QUEUE_END");
}

void death_while_others_wait(void)
{
        pid_t a, b;
        begin_waiting(&a, &b);
        worker_kill(a);
        await(&diary->done[1], b, NOTICE_MS);
        grader_check(diary->done[1] == 1, "B waits, as A has the only task; A is killed. %d s later B has not got it",
                     NOTICE_MS / 1000);
        worker_await_sleep(b, START_MS / 3);
        office_shut();
        office_join(b, "B", "though the queue is closed, and all is done");
}

static void take_and_leave(void *arg)
{
        (void)arg;
        office_open();
        int number = office_take();
        grader_check(number == 1, "A took task %d, and 1 is there", number);
        office_close();
        diary->flag = 1;
        while (diary->flag == 1)
                poll(NULL, 0, 1);
}

void leaving_while_others_wait(void)
{
        office_begin(1);
        pid_t a = worker_start(1, take_and_leave, NULL);
        await(&diary->flag, a, START_MS);
        grader_check(diary->flag == 1, "one task is there, and A did not get it in %d s", START_MS / 1000);
        pid_t b = worker_start(2, work, NULL);
        await(&diary->done[1], b, NOTICE_MS);
        grader_check(
                diary->done[1] == 1,
                "A has the only task, and closes the environment; its process goes on. %d s later B has not got it",
                NOTICE_MS / 1000);
        diary->flag = 2;
        worker_join(a, "A, who has closed the environment,");
        worker_await_sleep(b, WAIT_MS);
        office_shut();
        office_join(b, "B", "though the queue is closed, and all is done");
}

/* Nobody else is done with what A has. */
static void check_owned(void)
{
        int err = office_try_done(1);
        grader_check(
                err == QUEUE_UNKNOWN,
                "A has task 1, and lives: queue_done(1) of another process returned %d, should return QUEUE_UNKNOWN",
                err);
}

/* With a limit for the time that a task may take, in place of xac_alive(), B would get it: a longer one would find no
 * death in time. */
static void let_work(pid_t a, bool is_stopped, bool is_closed)
{
        const int work_ms = (WORK_MS + (int)grader_random(WORK_DRAWN_MS)) * grader_patience();
        const char *does = is_stopped ? "is stopped, but lives" : "lives", *queue_is = is_closed ? "closed" : "open";
        if (is_closed)
                office_shut();
        if (is_stopped)
                worker_signal(a, SIGSTOP);
        for (int ms = 0; ms < work_ms && diary->taken[1] == 1; ms += LOOK_MS)
                poll(NULL, 0, LOOK_MS);
        if (is_stopped)
                worker_signal(a, SIGCONT);
        grader_check(diary->taken[1] == 1, "the queue is %s. A has the only task, and %s: B got it, too", queue_is,
                     does);
        grader_check(diary->ended == 0, "the queue is %s. A has the only task, and %s: B was told QUEUE_END", queue_is,
                     does);
}

void life_while_others_wait(bool is_stopped, bool is_closed)
{
        pid_t a, b;
        begin_waiting(&a, &b);
        check_owned();
        let_work(a, is_stopped, is_closed);
        diary->flag = 2;
        worker_join(a, "A, who has worked for long,");
        if (!is_closed) {
                worker_await_sleep(b, START_MS / 3);
                office_shut();
        }
        office_join(b, "B", "though the queue is closed, and all is done");
        check_all_done(1);
        grader_check(diary->ended == 1, "all is done, and B was not told QUEUE_END");
}

/* ------------------------------------------------------------------ at random */

static void work_slowly(void *arg)
{
        (void)arg;
        office_open();
        for (int number; (number = office_take()) != 0;) {
                nanosleep(&(struct timespec){ 0, 1000000 + grader_random(2000000) }, NULL);
                office_done(number);
        }
        diary->ended++;
        office_close();
}

static void put_all(void *arg)
{
        office_open();
        for (int number = 1; number <= *(int *)arg; number++)
                office_put(number);
        office_shut();
        office_close();
}

void deaths_at_random(int tasks, int workers, int kills)
{
        pid_t pids[CREW_MOST];
        office_begin(0);
        pid_t producer = worker_start(1, put_all, &tasks);
        for (int i = 0; i < workers; i++)
                pids[i] = worker_start(2 + i, work_slowly, NULL);
        for (int i = 0; i < kills; i++) {
                int victim = (int)grader_random((uint32_t)workers);
                poll(NULL, 0, 1 + (int)grader_random(20));
                worker_kill(pids[victim]);
                pids[victim] = worker_start(2 + workers + i, work_slowly, NULL);
        }
        worker_join(producer, "the producer");
        for (int i = 0; i < workers; i++)
                office_join(pids[i], "a worker", "though the queue is closed: was a task lost?");
        for (int number = 1; number <= tasks; number++)
                grader_check(diary->taken[number] >= 1 && diary->done[number] <= 1,
                             "workers were killed: task %d was taken %d times, done %d times", number,
                             diary->taken[number], diary->done[number]);
}
